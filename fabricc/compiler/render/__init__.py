"""Write the files of one switch, with the templates and overlays of the user."""
