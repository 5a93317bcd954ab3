seed 447658
setting jobs=ps:1,worker:2 clients=3 lanes=3 restart=1000 down=9.523 snapshot_every=2.734 lease=2.791 shuffle=0
client 1.2: take q=1 via=2 pause=0.1172 limit=0.001532
client 2.2: read v=0 pause=0.04065
client 1.0: guard v=0 k=3 at=2 pause=0.003757
client 2.0: take q=1 via=2 pause=0.02557 limit=2.691
client 0.1: compute a=1 b=2 x=100 pause=0.008598 cancel=4.384
client 1.1: read v=2 pause=0.06581
client 2.1: take q=0 via=2 pause=0.01575 limit=1.586
client 0.2: read v=2 pause=0.06816
client 1.2: take q=1 via=-1 pause=0.007781 limit=0.03981
client 2.2: add v=0 k=4 via=-1 pause=0.01236
client 0.0: guard v=2 k=4 at=2 pause=0.01311 limit=0.005502
client 1.0: put q=0 e=3 via=2 pause=0.01704 limit=1.374
client 0.1: add v=1 k=4 via=-1 pause=0.01555
client 1.1: extend a=2 b=2 x=3 n=1 pause=0.0797
client 2.1: take q=0 via=2 pause=0.04604 limit=0.04546
client 1.2: put q=1 e=4 via=2 pause=0.01145
client 2.2: take q=1 via=-1 pause=0.2089 limit=2.857
client 0.0: add v=0 k=6 via=2 pause=0.01622
client 1.0: pair v=2 k=5 w=1 l=5 pause=0.01014
client 1.2: guard v=0 k=7 at=2 pause=0.06119
client 0.0: reduce x=50 pause=0.06913
client 1.0: put q=1 e=5 via=-1 pause=0.02772
client 0.1: guard v=1 k=7 at=2 pause=0.003489
client 0.1: meet at=2 pause=0.01437 limit=0.02995
client 1.1: meet at=3 pause=0.01437 limit=0.02995
client 0.2: pair v=2 k=7 w=1 l=8 pause=0.07604
client 1.2: take q=1 via=-1 pause=0.00807 limit=0.6911
client 2.2: add v=2 k=8 via=2 pause=0.09338
client 0.0: add v=2 k=9 via=-1 pause=0.01882
client 1.0: compute a=1 b=2 x=1 pause=0.1167
client 0.2: put q=1 e=7 via=-1 pause=0.04032
client 0.2: meet at=4 pause=0.029 limit=0.001526
client 1.2: meet at=5 pause=0.029 limit=0.001526
client 2.2: put q=1 e=8 via=2 pause=0.05483
client 1.0: meet at=7 pause=0.00358 limit=0.002411
client 1.0: add v=1 k=9 via=2 pause=0.03686
client 2.0: read v=1 pause=0.03614 limit=0.02073
client 0.1: put q=1 e=9 via=2 pause=0.1934
client 2.1: put q=1 e=10 via=-1 pause=0.06985
client 0.2: read v=2 pause=0.03848 limit=0.1218
client 1.2: add v=2 k=11 via=-1 pause=0.07497
client 2.2: add v=2 k=12 via=-1 pause=0.03058
client 0.0: extend a=1 b=2 x=100 n=2 pause=0.00765
client 0.1: take q=0 via=-1 pause=0.01991 cancel=0.02711
client 1.2: put q=0 e=14 via=2 pause=0.04687
client 2.2: extend a=1 b=2 x=3 n=3 pause=0.01896
client 0.0: add v=1 k=10 via=-1 pause=0.1167 cancel=0.2307
client 1.0: pair v=2 k=14 w=1 l=11 pause=0.0186
client 2.0: take q=1 via=-1 pause=0.05219 limit=0.9546
client 0.1: read v=0 pause=0.1299
client 0.1: meet at=8 pause=0.07796 limit=1.574
client 1.1: meet at=9 pause=0.07796 limit=1.574
client 2.1: read v=1 pause=0.008947 limit=0.005258
client 0.2: add v=2 k=15 via=2 pause=0.08256
client 2.2: take q=0 via=-1 pause=0.01747 limit=0.205
client 0.0: add v=2 k=16 via=-1 pause=0.09711
client 1.0: guard v=2 k=17 at=2 pause=0.05331
client 2.0: put q=0 e=15 via=-1 pause=0.05389
client 0.1: add v=1 k=12 via=2 pause=0.03304
client 1.1: pair v=0 k=9 w=2 l=18 pause=0.01495
client 2.1: add v=0 k=10 via=2 pause=0.01549
client 2.2: restore n=2 at=1 pause=0.01871
client 0.2: put q=0 e=17 via=2 pause=0.005517
client 0.0: add v=2 k=22 via=-1 pause=0.04359
client 1.0: read v=2 pause=0.05361
client 2.1: add v=0 k=13 via=-1 pause=0.06959
client 0.2: take q=1 via=2 pause=0.08337 limit=0.007291
client 0.0: guard v=1 k=17 at=2 pause=0.03511
client 1.0: compute a=1 b=2 x=1 pause=0.07237
client 0.0: put q=1 e=26 via=-1 pause=0.03511
client 1.0: add v=2 k=32 via=2 pause=0.06066 limit=0.008027
client 0.0: compute a=1 b=2 x=100 pause=0.0614
client 1.0: add v=2 k=34 via=2 pause=0.01593
fault 0.305534 mute worker-0 ps-0 for 3.17669
fault 0.450687 power worker-1 after 272
fault 0.555984 cut ps-0 client-1
fault 1.02279 leave worker-1 after 352
