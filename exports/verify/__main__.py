"""`python -m exports.verify DIR`: see `verify`."""

import sys

from exports.verify.verify import main

sys.exit(main())
