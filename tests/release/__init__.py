"""What a release holds, and what the project says to those who build, install and trust one."""
