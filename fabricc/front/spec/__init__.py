"""The front end: from the text of a cluster spec to `ClusterSpec`, with every problem as a diagnostic."""
