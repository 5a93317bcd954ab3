seed 446027
setting jobs=worker:2 clients=3 lanes=1 restart=0 down=0.9341 snapshot_every=0.0 lease=5.56 shuffle=0
client 0.0: put q=0 e=0 via=1 pause=0.535
client 1.0: take q=0 via=1 pause=2.482 limit=0.005868
client 0.0: compute a=1 b=0 x=3 pause=0.2721
client 1.0: extend a=1 b=0 x=1 n=0 pause=0.4386
client 1.0: take q=1 via=1 pause=0.8724 cancel=3.567
client 0.0: meet at=0 pause=0.514 limit=9.558
client 0.0: save n=2 at=1 pause=0.8133
client 1.0: add v=0 k=10 via=1 pause=0.7291
client 0.0: add v=0 k=11 via=1 pause=1.578
client 1.0: save n=3 at=1 pause=0.7249 limit=1.154
client 0.0: compute a=1 b=0 x=1 pause=0.7013
client 0.0: put q=0 e=8 via=1 pause=0.6153 limit=0.02285
client 1.0: guard v=0 k=12 at=0 pause=1.376
client 0.0: guard v=1 k=13 at=0 pause=1.245
client 2.0: take q=1 via=1 pause=0.99 limit=0.2981
client 0.0: add v=0 k=14 via=-1 pause=0.9302
client 1.0: take q=1 via=-1 pause=1.697 limit=0.03985
client 2.0: add v=0 k=15 via=1 pause=0.9975 cancel=0.0104
client 0.0: put q=1 e=10 via=1 pause=0.3008
client 1.0: compute a=1 b=0 x=1 pause=0.8319
client 2.0: put q=0 e=11 via=1 pause=0.551
client 0.0: save n=4 at=0 pause=0.7572
client 1.0: pair v=1 k=14 w=0 l=16 pause=0.4626
client 2.0: compute a=0 b=0 x=100 pause=0.9949 limit=4.545
client 0.0: read v=1 pause=0.4959
client 1.0: compute a=1 b=0 x=1 pause=1.204 cancel=6.483
client 2.0: extend a=1 b=0 x=100 n=1 pause=0.5197
client 0.0: read v=1 pause=1.55
client 0.0: restore n=2 at=1 pause=1.04
client 1.0: put q=0 e=12 via=1 pause=0.6118
client 2.0: put q=0 e=13 via=1 pause=1.766 limit=0.1028
client 0.0: add v=1 k=16 via=1 pause=1.555
client 2.0: pair v=0 k=18 w=1 l=18 pause=0.002714
client 0.0: extend a=1 b=0 x=1 n=2 pause=2.837 limit=0.001174
client 1.0: put q=0 e=14 via=1 pause=0.3197 limit=0.008957
client 2.0: compute a=0 b=0 x=3 pause=0.9256 limit=0.1542
client 0.0: guard v=1 k=19 at=0 pause=0.1897
client 1.0: put q=1 e=15 via=-1 pause=0.8308
client 2.0: put q=1 e=16 via=1 pause=0.7233
client 0.0: read v=1 pause=0.8074
client 1.0: add v=0 k=19 via=1 pause=0.4223
client 2.0: pair v=0 k=20 w=1 l=20 pause=0.7713
client 0.0: compute a=1 b=0 x=1 pause=0.06019
client 1.0: add v=1 k=21 via=1 pause=0.5407
client 1.0: add v=0 k=21 via=1 pause=0.1011 limit=2.311
client 0.0: restore n=2 at=1 pause=0.4964
client 1.0: guard v=0 k=22 at=0 pause=0.2371 limit=0.004954
client 0.0: take q=1 via=-1 pause=3.415 limit=2.21
client 1.0: add v=0 k=23 via=-1 pause=1.235
client 0.0: meet at=4 pause=1.719 limit=5.529
client 1.0: meet at=5 pause=1.719 limit=5.529
client 0.0: take q=0 via=1 pause=0.7994 limit=0.2429
client 1.0: add v=0 k=26 via=1 pause=1.412 limit=0.0704
client 0.0: add v=1 k=22 via=1 pause=1.564
client 1.0: take q=0 via=-1 pause=0.3892 limit=5.373
client 0.0: visit a=1 x=50 pause=0.421
client 1.0: take q=1 via=1 pause=0.1825 cancel=0.106
client 0.0: put q=0 e=20 via=1 pause=0.3995
client 1.0: compute a=1 b=0 x=3 pause=0.2153
client 0.0: put q=1 e=22 via=-1 pause=3.773 cancel=8.934
client 1.0: read v=0 pause=0.1218
client 2.0: read v=0 pause=1.331
client 0.0: guard v=1 k=23 at=0 pause=0.4554
client 1.0: add v=1 k=24 via=-1 pause=0.4046
client 0.0: partial a=1 b=0 x=3 pause=0.1423
client 1.0: add v=0 k=29 via=1 pause=0.5619
client 0.0: add v=0 k=31 via=1 pause=0.9115
client 1.0: take q=0 via=-1 pause=0.6029 limit=0.001808
client 0.0: put q=1 e=23 via=1 pause=0.6478
client 1.0: put q=0 e=24 via=1 pause=0.3034
client 0.0: take q=1 via=1 pause=0.988 limit=0.3518
client 1.0: put q=1 e=25 via=1 pause=0.3174
client 0.0: restore n=4 at=0 pause=0.5137
client 1.0: read v=0 pause=0.7329
client 0.0: read v=1 pause=0.1236
client 1.0: partial a=0 b=0 x=100 pause=0.5305
client 0.0: reduce x=50 pause=0.7178
client 1.0: compute a=1 b=0 x=100 pause=0.6207
client 0.0: take q=0 via=-1 pause=0.9478 limit=7.897
client 0.0: guard v=0 k=35 at=0 pause=0.001554
client 1.0: compute a=0 b=0 x=100 pause=0.5101 cancel=0.0156
client 0.0: restore n=4 at=0 pause=3.889
client 1.0: extend a=0 b=0 x=1 n=3 pause=0.1708
client 0.0: guard v=1 k=30 at=0 pause=0.6083 limit=0.01157
client 1.0: save n=5 at=0 pause=1.118
client 0.0: put q=1 e=26 via=-1 pause=3.777
client 1.0: reduce x=50 pause=0.2316
client 0.0: read v=0 pause=0.3219
client 1.0: put q=0 e=27 via=-1 pause=0.511
client 0.0: visit a=1 x=50 pause=2.276
client 0.0: meet at=8 pause=2.335 limit=2.9
client 1.0: meet at=9 pause=2.335 limit=2.9
client 0.0: reduce x=50 pause=0.7918
client 0.0: meet at=10 pause=0.4152 limit=0.3004
client 0.0: pair v=0 k=42 w=1 l=33 pause=0.3313
fault 0.518684 kill client-2 for 0.759038
fault 1.37649 vanish client-2 worker-1
fault 49.0593 restart worker-1 after 189
