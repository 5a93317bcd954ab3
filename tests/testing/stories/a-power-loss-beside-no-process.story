seed 401191
setting jobs=ps:1,worker:2 clients=3 lanes=3 restart=3 down=4.281 snapshot_every=2.322 lease=5.948 shuffle=1
client 0.1: compute a=1 b=1 x=100 pause=0.7864
client 1.1: take q=0 via=1 pause=3.0 limit=0.003804
client 2.1: save n=0 at=2 pause=0.5978 cancel=0.001052
client 1.2: compute a=1 b=2 x=3 pause=1.224
client 0.0: compute a=1 b=2 x=1 pause=0.3161
client 1.0: restore pause=0.2308
client 2.0: guard v=2 k=1 at=2 pause=0.2678
client 0.1: take q=1 via=1 pause=0.7722 cancel=0.005671
client 1.2: put q=0 e=0 via=1 pause=1.58
client 0.0: put q=0 e=2 via=-1 pause=1.285
client 1.0: add v=2 k=3 via=-1 pause=0.2719
client 2.0: add v=1 k=0 via=1 pause=1.078
client 0.1: compute a=1 b=1 x=1 pause=0.3779 cancel=0.002944
client 2.0: compute a=1 b=1 x=3 pause=1.682
client 0.1: save n=2 at=0 pause=0.2393
client 0.2: add v=1 k=2 via=-1 pause=2.415
client 1.2: meet at=5 pause=0.7023 limit=0.05114
client 2.2: guard v=0 k=1 at=2 pause=0.4927
client 2.0: extend a=1 b=2 x=100 n=2 pause=4.155
client 0.2: take q=0 via=1 pause=0.2663 limit=0.03779
client 1.0: pair v=2 k=4 w=0 l=3 pause=0.4173
client 0.1: put q=1 e=6 via=1 pause=0.03545 cancel=0.04123
client 1.2: add v=1 k=5 via=-1 pause=1.839
client 2.2: restore n=0 at=2 pause=0.1667
client 0.0: extend a=1 b=1 x=1 n=3 pause=0.5029 cancel=0.003079
client 0.1: extend a=1 b=2 x=3 n=4 pause=2.901
client 0.2: put q=1 e=7 via=1 pause=0.2513
client 1.2: compute a=1 b=1 x=3 pause=1.071
client 0.2: meet at=6 pause=0.6622 limit=1.067
client 0.0: add v=0 k=8 via=-1 pause=0.8039
client 1.0: add v=2 k=5 via=1 pause=2.02
client 0.1: add v=0 k=9 via=1 pause=1.034
client 2.2: put q=0 e=8 via=-1 pause=1.802
client 0.1: take q=0 via=1 pause=0.7494 limit=0.003224
client 1.2: add v=1 k=28 via=-1 pause=1.141
fault 6.12188 crash worker-1 after 194
fault 7.13856 leave worker-0 after 318
fault 11.2683 power worker-0 after 44
fault 12.1076 foreign worker-0 for 0.193025 after 351
