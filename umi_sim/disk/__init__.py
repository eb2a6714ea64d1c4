"""A disk that loses power: the database code of umi_live, run on files that tear, vanish and come back.

disk.py    files, what of them is durable, and what a power cut leaves
vfs.py     the disk as a file system of SQLite
case.py    one life of a store on such a disk, with what must hold after each cut
hunt.py    many cases, and the smallest one that fails
"""
