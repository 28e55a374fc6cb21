"""Reading files of others strictly: rows of files, sheets, TOML, zips, datasets of the hub, and folders on GitHub."""
