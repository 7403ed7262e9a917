"""Writers of small picture files of every kind, by format: NAME_files() gives file name -> (bytes, expected pixels)."""
