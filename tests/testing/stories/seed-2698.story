seed 2698
setting jobs=ps:1,worker:2 clients=2 lanes=2 restart=3 down=2.703 snapshot_every=0.0 lease=4.864 shuffle=0
client 0.0: reduce x=1 pause=0.1013
client 0.0: meet at=0 pause=0.05291 limit=0.003064
client 1.0: meet at=1 pause=0.05291 limit=0.003064
client 1.1: guard v=1 k=1 at=1 pause=0.02001
client 0.0: take q=0 via=-1 pause=0.03311 limit=6.429
client 1.0: compute a=2 b=1 x=100 pause=0.1458 limit=0.0025
client 0.1: read v=2 pause=0.1034
client 1.1: guard v=1 k=2 at=1 pause=0.004033
client 0.0: take q=1 via=-1 pause=0.02105 limit=0.003554
client 1.0: put q=0 e=0 via=2 pause=0.02326 limit=0.003724
client 0.1: pair v=2 k=0 w=0 l=0 pause=0.1711
client 1.0: compute a=0 b=2 x=3 pause=0.1214
client 0.1: take q=0 via=2 pause=0.02226 limit=6.948
client 0.0: compute a=0 b=2 x=3 pause=0.0495
client 1.0: partial a=2 b=1 x=3 pause=0.1432
client 0.0: guard v=0 k=7 at=1 pause=0.2244 limit=0.01732
client 1.0: add v=0 k=8 via=2 pause=0.004821
client 1.1: read v=0 pause=0.00499
client 0.0: take q=0 via=2 pause=0.06496 limit=0.09891
client 1.0: read v=0 pause=0.2113 cancel=0.1412
client 1.1: take q=0 via=2 pause=0.1811 limit=7.298
client 0.0: add v=1 k=7 via=2 pause=0.03394
client 1.0: compute a=2 b=1 x=3 pause=0.02678
client 0.0: pair v=1 k=9 w=2 l=4 pause=0.1992 cancel=1.384
client 1.0: compute a=0 b=2 x=100 pause=0.007011
client 0.0: pair v=0 k=10 w=2 l=6 pause=0.06416
client 1.0: put q=1 e=8 via=2 pause=0.008202 limit=0.457
client 1.1: compute a=0 b=2 x=100 pause=0.03621
client 0.0: read v=2 pause=0.04532
client 1.0: compute a=0 b=2 x=1 pause=0.01975
client 0.0: pair v=2 k=7 w=0 l=11 pause=0.01065
client 1.0: put q=1 e=10 via=-1 pause=0.08357 limit=0.002822
client 0.0: put q=0 e=11 via=2 pause=0.03847
client 1.0: compute a=0 b=2 x=1 pause=0.07363
client 1.0: compute a=0 b=2 x=1 pause=0.0293 cancel=0.2434
fault 0.866252 end ps-0 after 183
fault 2.49968 crash worker-0 after 245
