"""`python -m fabricc`."""

import sys

from fabricc.cli import main

sys.exit(main())
