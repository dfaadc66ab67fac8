"""``python -m footfall``: the same as the command ``footfall``."""

from footfall.cli.main import main

if __name__ == "__main__":
    main()
