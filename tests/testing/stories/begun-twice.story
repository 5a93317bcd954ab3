seed 600347
setting jobs=ps:2,worker:2 clients=3 lanes=3 restart=3 down=2.554 snapshot_every=0.1216 lease=4.458 shuffle=0
client 0.2: guard v=1 k=0 at=2 pause=0.008728
client 1.2: add v=0 k=0 via=1 pause=0.2051
client 0.2: put q=1 e=2 via=-1 pause=0.08888
client 1.2: pair v=1 k=2 w=0 l=2 pause=0.1421
client 0.0: pair v=2 k=3 w=1 l=3 pause=0.1681
client 0.2: partial a=1 b=2 x=1 pause=0.05005
client 2.2: compute a=1 b=2 x=100 pause=0.07748
client 0.0: pair v=3 k=4 w=2 l=5 pause=0.3509
client 1.0: put q=1 e=10 via=-1 pause=0.04061
client 2.0: compute a=1 b=2 x=3 pause=0.1062
client 0.1: add v=2 k=8 via=1 pause=0.04157
client 2.1: pair v=2 k=9 w=1 l=7 pause=0.06913
client 0.2: compute a=1 b=2 x=3 pause=0.0662 limit=0.004919
client 1.2: guard v=0 k=9 at=2 pause=0.03464
client 2.2: add v=0 k=10 via=1 pause=0.07763
client 0.0: compute a=0 b=3 x=100 pause=0.1938
client 0.1: add v=1 k=8 via=1 pause=0.0396
client 0.2: compute a=0 b=3 x=3 pause=0.002559
client 1.2: put q=0 e=14 via=-1 pause=0.09156
client 2.0: take q=0 via=1 pause=0.3453 limit=0.149
client 0.2: add v=1 k=10 via=1 pause=0.0374
client 1.2: reduce x=50 pause=0.2657
client 0.1: compute a=1 b=2 x=100 pause=0.01864
client 1.1: add v=0 k=12 via=-1 pause=0.2027
client 2.1: put q=1 e=19 via=1 pause=0.03544
client 0.2: meet at=2 pause=0.1224 cancel=0.01115
client 1.2: meet at=3 pause=0.1224 cancel=0.01115
client 1.2: take q=0 via=-1 pause=0.06155 limit=0.005429
client 2.1: add v=0 k=15 via=1 pause=0.008972
client 0.2: put q=0 e=21 via=1 pause=0.0781
client 1.2: add v=3 k=6 via=-1 pause=0.03386
client 2.0: compute a=1 b=2 x=100 pause=0.1579
client 0.1: compute a=0 b=3 x=100 pause=0.009594
client 1.1: add v=0 k=16 via=-1 pause=0.1345
client 2.1: put q=0 e=22 via=1 pause=0.01041
client 1.2: add v=3 k=9 via=1 pause=0.0108 cancel=0.0152
client 2.2: add v=2 k=12 via=1 pause=0.03729
client 0.0: partial a=1 b=2 x=1 pause=0.01265
client 1.0: add v=0 k=18 via=-1 pause=0.02147
client 2.1: add v=1 k=16 via=-1 pause=0.1692
client 1.2: add v=0 k=19 via=1 pause=0.06619
client 2.2: add v=2 k=13 via=1 pause=0.1597
client 0.0: add v=3 k=10 via=-1 pause=0.03396
client 1.0: take q=1 via=1 pause=0.1298 limit=4.328
fault 0.481576 slow ps-0 worker-1 by 0.576327 for 18.471
fault 0.651356 crash ps-1 after 131
fault 1.43932 power worker-0 after 389
fault 1.75851 power worker-1 after 265
