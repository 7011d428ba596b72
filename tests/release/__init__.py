"""The content of a release, and the project's documents for those who build, install and trust one."""
