"""Brings a built tree to the switches: in waves that keep the fabric up, with gates, rollback and a journal."""
