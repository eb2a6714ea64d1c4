"""`python -m umi_live` is the command umi-live."""

from umi_live.command import main

main()
