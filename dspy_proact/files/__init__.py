"""Reading files of others strictly: rows of files, datasets of the hub, and folders of a repository on GitHub."""
