"""Reading files of others strictly: rows of files, sheets, zips, datasets of the hub, and folders on GitHub."""
