"""The report: one self-contained HTML page of a planned fabric, for those who decide on it, review, buy and sign."""
