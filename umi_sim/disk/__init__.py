"""A disk that loses power: the database code of umi_live, run on files that tear, vanish and come back.

disk.py    files, their durable content, and the effect of a power cut
vfs.py     the disk as a file system of SQLite
case.py    one case: a store on such a disk, with power cuts, and the checks after each cut
hunt.py    many cases, and shrinking the first one that fails
"""
