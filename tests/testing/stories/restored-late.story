seed 900000002
setting jobs=ps:2,worker:2 clients=2 lanes=2 restart=3 down=6.432 snapshot_every=3.326 lease=4.196 shuffle=0
client 1.0: add v=2 k=0 via=-1 pause=1.404
client 0.1: guard v=3 k=0 at=1 pause=1.562
client 1.1: partial a=0 b=1 x=100 pause=0.3735
client 1.0: read v=0 pause=0.5311
client 1.0: compute a=0 b=1 x=3 pause=0.9314
client 0.1: add v=2 k=1 via=0 pause=0.6136
client 1.0: put q=1 e=2 via=-1 pause=0.7108
client 0.1: pair v=3 k=1 w=0 l=0 pause=0.3334
client 1.1: read v=0 pause=0.2066
client 0.0: take q=1 via=0 pause=0.401 limit=5.953
client 1.0: pair v=2 k=2 w=3 l=2 pause=0.5496
client 0.1: add v=1 k=0 via=0 pause=0.4606
client 1.1: save n=0 at=1 pause=0.6851
client 0.1: pair v=0 k=1 w=1 l=3 pause=0.6576
client 0.0: take q=1 via=0 pause=1.139 limit=0.001109
client 1.0: compute a=1 b=3 x=3 pause=0.7141 cancel=0.3741
client 0.1: compute a=0 b=1 x=3 pause=0.9615
client 1.1: pair v=2 k=3 w=0 l=2 pause=0.8268
client 1.0: put q=1 e=6 via=0 pause=0.9999
client 0.1: add v=3 k=4 via=0 pause=3.93
client 1.1: compute a=0 b=1 x=1 pause=0.4386
client 1.0: meet at=1 pause=0.06856 limit=4.135
client 1.0: take q=0 via=0 pause=0.6637 limit=1.143
client 0.1: add v=1 k=4 via=0 pause=2.32
client 0.1: add v=0 k=3 via=0 pause=0.3202
client 1.0: meet at=3 pause=1.064 limit=3.18
client 0.1: take q=0 via=-1 pause=0.5895 limit=0.26
client 1.1: visit a=0 x=1 pause=0.5732
client 1.0: take q=1 via=-1 pause=0.183 cancel=0.3007
client 0.1: compute a=0 b=1 x=1 pause=0.862
client 1.1: save n=1 at=0 pause=0.8618 cancel=0.02222
client 1.1: read v=0 pause=0.3324 limit=3.361
client 1.0: restore n=0 at=1 pause=0.1413
client 0.1: add v=1 k=5 via=0 pause=2.242
client 1.1: put q=0 e=9 via=0 pause=0.7106
client 1.0: guard v=3 k=8 at=1 pause=0.6162
client 1.1: reduce x=1 pause=0.1476
client 1.0: meet at=7 pause=0.1093 limit=0.001797
client 1.0: add v=1 k=7 via=-1 pause=0.9965
client 0.1: add v=1 k=8 via=-1 pause=0.8786 limit=0.06052
client 1.1: add v=1 k=9 via=-1 pause=0.1903
client 1.0: compute a=1 b=3 x=100 pause=0.6589 limit=0.03952
client 1.0: extend a=1 b=3 x=1 n=2 pause=0.5804
client 1.1: compute a=0 b=1 x=3 pause=0.2097
client 1.0: guard v=0 k=4 at=1 pause=0.6079
client 0.1: restore n=2 at=2 pause=0.2896
client 1.1: reopen pause=0.4476
client 1.0: restore n=0 at=1 pause=0.7137 limit=0.001338
fault 15.4989 mute worker-0 ps-1 for 1.22602
