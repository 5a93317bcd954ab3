seed 20
setting jobs=worker:2 clients=2 lanes=1 restart=3 down=7.057 snapshot_every=0.0 lease=5.569 shuffle=0
client 0.0: read v=1 pause=0.001856 limit=0.1606
client 1.0: add v=1 k=0 via=-1 pause=0.01582
client 0.0: guard v=1 k=1 at=0 pause=0.0004772
client 1.0: guard v=1 k=2 at=0 pause=0.002216
client 0.0: compute a=1 b=0 x=100 pause=0.002425
client 1.0: extend a=0 b=0 x=100 n=0 pause=0.004795
client 0.0: pair v=0 k=0 w=1 l=3 pause=0.04893
client 1.0: pair v=0 k=1 w=1 l=4 pause=0.000438
client 0.0: put q=1 e=0 via=-1 pause=0.02236 limit=2.755
client 1.0: compute a=1 b=0 x=1 pause=0.001826
client 0.0: compute a=0 b=0 x=1 pause=0.0004896
client 1.0: compute a=0 b=0 x=3 pause=0.04557
client 0.0: compute a=1 b=0 x=100 pause=0.003837
client 1.0: extend a=0 b=0 x=3 n=1 pause=0.00787 limit=0.1429
client 0.0: add v=0 k=2 via=1 pause=0.004704
client 1.0: put q=1 e=1 via=-1 pause=0.04208
client 0.0: add v=1 k=5 via=1 pause=0.01672
client 1.0: compute a=0 b=0 x=3 pause=0.01877
client 0.0: compute a=1 b=0 x=3 pause=0.003161
client 1.0: add v=0 k=3 via=-1 pause=0.01784
client 0.0: pair v=1 k=6 w=0 l=4 pause=0.003203
client 1.0: pair v=0 k=5 w=1 l=7 pause=0.003617
client 0.0: put q=1 e=2 via=1 pause=0.00387
client 1.0: guard v=1 k=8 at=0 pause=0.01181
client 0.0: add v=1 k=9 via=1 pause=0.004098 limit=1.288
client 1.0: add v=0 k=6 via=1 pause=0.01299
client 0.0: compute a=1 b=0 x=1 pause=0.003071 cancel=0.4486
client 1.0: compute a=1 b=0 x=1 pause=5.563e-05
client 0.0: add v=0 k=7 via=1 pause=0.004369
client 1.0: pair v=1 k=10 w=0 l=8 pause=0.02214
client 0.0: add v=1 k=11 via=1 pause=0.003912 limit=0.001438
client 1.0: pair v=0 k=9 w=1 l=12 pause=0.01359
client 0.0: read v=0 pause=0.02229
client 1.0: compute a=1 b=0 x=100 pause=0.003106
client 0.0: compute a=0 b=0 x=100 pause=0.00232
client 1.0: compute a=1 b=0 x=1 pause=0.004339
client 0.0: add v=0 k=10 via=1 pause=0.006963
client 1.0: read v=0 pause=0.002101 limit=0.01189
client 0.0: add v=0 k=11 via=-1 pause=0.005542
client 1.0: put q=1 e=3 via=-1 pause=0.004762
client 0.0: take q=1 via=1 pause=0.002663 limit=0.1142
client 1.0: add v=1 k=13 via=-1 pause=0.008679
client 0.0: compute a=0 b=0 x=100 pause=0.004268
client 1.0: add v=1 k=14 via=1 pause=0.005284
client 0.0: put q=0 e=4 via=1 pause=0.003425
client 1.0: guard v=1 k=15 at=0 pause=0.006971 limit=0.9217
client 0.0: take q=1 via=1 pause=0.03561 limit=0.991
client 1.0: take q=1 via=1 pause=0.01638 limit=3.801
client 0.0: read v=0 pause=0.03087 limit=0.298
client 1.0: add v=0 k=12 via=1 pause=0.07909
client 0.0: add v=0 k=13 via=-1 pause=0.01751
client 1.0: take q=1 via=-1 pause=0.01054 limit=1.233
client 0.0: extend a=0 b=0 x=1 n=2 pause=0.004117
client 1.0: add v=1 k=16 via=-1 pause=0.000637
client 0.0: add v=0 k=14 via=-1 pause=0.008693
client 1.0: compute a=0 b=0 x=3 pause=0.002883
client 0.0: take q=0 via=-1 pause=0.02049 limit=0.01988
client 1.0: take q=1 via=-1 pause=0.02498 limit=0.5964
client 0.0: pair v=0 k=15 w=1 l=17 pause=0.001719 cancel=0.05329
client 1.0: add v=0 k=16 via=-1 pause=0.03556
client 0.0: take q=0 via=1 pause=0.02105 limit=0.1344
client 0.0: meet at=0 pause=0.017 limit=0.0043
client 1.0: meet at=1 pause=0.017 limit=0.0043
client 0.0: extend a=0 b=0 x=100 n=3 pause=0.01552
client 1.0: put q=0 e=5 via=-1 pause=0.008996
client 0.0: meet at=2 pause=0.02006 limit=0.02751
client 1.0: meet at=3 pause=0.02006 limit=0.02751
client 1.0: take q=1 via=-1 pause=0.0342 limit=0.02204
client 0.0: reduce x=1 pause=0.01069 limit=4.367
client 1.0: read v=0 pause=0.01772
client 0.0: guard v=1 k=18 at=0 pause=0.03094
client 1.0: put q=1 e=6 via=1 pause=0.01163
client 0.0: add v=1 k=19 via=-1 pause=0.0004568
client 1.0: take q=1 via=-1 pause=0.01058 limit=0.002337
client 0.0: add v=0 k=17 via=1 pause=0.009026
client 1.0: read v=1 pause=0.02814 limit=0.01651
client 0.0: take q=1 via=-1 pause=0.0214 limit=0.002209
client 1.0: add v=0 k=18 via=-1 pause=0.0419
client 0.0: compute a=1 b=0 x=100 pause=0.03463
client 0.0: meet at=4 pause=0.004186 limit=0.02833
client 1.0: meet at=5 pause=0.004186 limit=0.02833
client 0.0: put q=1 e=7 via=1 pause=0.01579
client 1.0: compute a=1 b=0 x=1 pause=0.006291
client 0.0: take q=1 via=1 pause=0.002892 limit=0.001468
client 0.0: meet at=6 pause=0.01636 limit=0.02976
client 1.0: meet at=7 pause=0.01636 limit=0.02976
client 0.0: compute a=1 b=0 x=3 pause=0.003978
client 1.0: compute a=0 b=0 x=1 pause=0.007811
client 0.0: pair v=0 k=19 w=1 l=20 pause=0.008184 limit=0.01704
client 1.0: compute a=0 b=0 x=100 pause=0.009299
client 0.0: pair v=0 k=20 w=1 l=21 pause=0.004368
client 1.0: guard v=1 k=22 at=0 pause=0.01096
client 0.0: guard v=1 k=23 at=0 pause=0.005932
client 1.0: guard v=1 k=24 at=0 pause=0.005822
client 0.0: take q=1 via=-1 pause=0.014 limit=0.1106
client 1.0: compute a=1 b=0 x=100 pause=0.02776
client 0.0: put q=0 e=8 via=-1 pause=0.02147
client 1.0: pair v=1 k=25 w=0 l=21 pause=0.000656
client 0.0: add v=1 k=26 via=1 pause=0.003553
client 1.0: compute a=0 b=0 x=3 pause=0.01799
client 0.0: add v=0 k=22 via=1 pause=0.005692
client 1.0: add v=0 k=23 via=1 pause=0.01366
client 0.0: compute a=0 b=0 x=3 pause=0.018
client 1.0: compute a=0 b=0 x=1 pause=0.06454
client 0.0: put q=1 e=9 via=-1 pause=0.009093
client 1.0: pair v=0 k=24 w=1 l=27 pause=0.0137
client 0.0: compute a=1 b=0 x=100 pause=0.05189
client 0.0: meet at=8 pause=0.002557 limit=0.001038
client 1.0: meet at=9 pause=0.002557 limit=0.001038
client 0.0: read v=1 pause=0.00604
client 1.0: add v=0 k=25 via=-1 pause=0.03437
client 0.0: take q=0 via=1 pause=0.02085 limit=0.01015
client 1.0: compute a=1 b=0 x=100 pause=0.0015
client 0.0: read v=1 pause=0.01831
client 1.0: add v=1 k=28 via=1 pause=0.001613
client 0.0: compute a=1 b=0 x=100 pause=0.01992
client 1.0: guard v=0 k=26 at=0 pause=0.007811
client 0.0: pair v=1 k=29 w=0 l=27 pause=0.0005641
client 1.0: add v=1 k=30 via=-1 pause=0.01027
client 0.0: add v=1 k=31 via=1 pause=0.008981
client 1.0: take q=0 via=1 pause=0.01496 limit=6.349
client 0.0: add v=1 k=32 via=-1 pause=0.001037
client 1.0: add v=1 k=33 via=-1 pause=0.01357
client 0.0: partial a=1 b=0 x=100 pause=0.003524
client 1.0: pair v=0 k=28 w=1 l=34 pause=0.04581
client 0.0: compute a=0 b=0 x=3 pause=0.03847
client 1.0: add v=1 k=35 via=-1 pause=0.02
client 0.0: compute a=0 b=0 x=3 pause=0.009483 cancel=0.07812
client 1.0: take q=0 via=1 pause=0.03446 limit=0.002314
client 0.0: reduce x=1 pause=0.01085
client 1.0: put q=1 e=10 via=1 pause=0.03362
client 0.0: compute a=1 b=0 x=1 pause=0.01531
client 1.0: take q=0 via=1 pause=0.01748 limit=5.812
client 0.0: extend a=0 b=0 x=100 n=4 pause=0.02144
client 1.0: pair v=1 k=36 w=0 l=29 pause=0.01512
client 0.0: extend a=1 b=0 x=1 n=5 pause=0.002319 cancel=0.2499
client 1.0: put q=1 e=11 via=1 pause=0.02007
client 0.0: compute a=1 b=0 x=100 pause=0.00403
client 1.0: take q=0 via=1 pause=0.0003909 limit=0.3526
client 0.0: meet at=10 pause=0.03642 limit=0.3034
client 1.0: meet at=11 pause=0.03642 limit=0.3034
client 1.0: add v=1 k=37 via=-1 pause=0.007569
client 0.0: take q=1 via=1 pause=0.01514 limit=0.003022
client 1.0: add v=0 k=30 via=1 pause=0.009158
client 0.0: guard v=0 k=31 at=0 pause=0.0107
client 1.0: add v=0 k=32 via=-1 pause=0.01745 limit=0.8677
client 0.0: pair v=1 k=38 w=0 l=33 pause=0.01837
client 1.0: take q=1 via=-1 pause=0.009874 limit=1.656
client 0.0: pair v=0 k=34 w=1 l=39 pause=0.008314
client 1.0: pair v=0 k=35 w=1 l=40 pause=0.009585 limit=0.3214
client 0.0: put q=0 e=12 via=1 pause=0.001625
client 1.0: add v=1 k=41 via=1 pause=0.003844
client 0.0: meet at=12 pause=0.00517 limit=0.157
client 1.0: meet at=13 pause=0.00517 limit=0.157
client 1.0: take q=0 via=-1 pause=0.002691 limit=2.52
client 0.0: add v=1 k=42 via=-1 pause=0.001686
client 1.0: compute a=1 b=0 x=100 pause=0.001797
client 0.0: meet at=14 pause=0.01576 limit=4.773
client 1.0: meet at=15 pause=0.01576 limit=4.773
client 1.0: put q=1 e=13 via=1 pause=0.02841
client 0.0: compute a=1 b=0 x=3 pause=0.03946 limit=0.01009
client 1.0: partial a=0 b=0 x=100 pause=0.03848
client 0.0: put q=1 e=14 via=-1 pause=0.007218 cancel=0.03519
client 1.0: partial a=1 b=0 x=100 pause=0.002918
client 0.0: put q=1 e=15 via=-1 pause=0.02155
client 1.0: guard v=1 k=43 at=0 pause=0.007761
client 0.0: add v=0 k=36 via=-1 pause=0.02852
client 1.0: add v=1 k=44 via=1 pause=0.006144
client 0.0: partial a=1 b=0 x=3 pause=0.03055
client 1.0: pair v=0 k=37 w=1 l=45 pause=0.006989
client 0.0: add v=0 k=38 via=-1 pause=0.006296
client 1.0: take q=1 via=-1 pause=0.008112 limit=5.225
client 0.0: take q=0 via=1 pause=0.01567 limit=0.001938
client 1.0: pair v=0 k=39 w=1 l=46 pause=0.001223 limit=0.104
client 0.0: compute a=0 b=0 x=3 pause=0.01032
client 1.0: compute a=0 b=0 x=100 pause=0.04278
client 0.0: read v=1 pause=0.004893
client 1.0: take q=1 via=1 pause=0.03467 limit=0.8541
client 0.0: compute a=0 b=0 x=3 pause=0.00325
client 1.0: extend a=0 b=0 x=3 n=6 pause=0.006923
client 0.0: guard v=0 k=40 at=0 pause=0.007344
client 1.0: take q=1 via=-1 pause=0.007405 limit=0.4265
client 0.0: partial a=0 b=0 x=100 pause=0.004144
client 1.0: compute a=1 b=0 x=100 pause=0.01178
client 0.0: read v=0 pause=0.04224
client 1.0: guard v=0 k=41 at=0 pause=0.01428
client 0.0: pair v=1 k=47 w=0 l=42 pause=0.01114
client 1.0: put q=0 e=16 via=-1 pause=0.005518
client 0.0: add v=1 k=48 via=-1 pause=0.01541
client 1.0: compute a=1 b=0 x=3 pause=0.01513
client 0.0: put q=1 e=17 via=-1 pause=0.001499
client 1.0: put q=1 e=18 via=-1 pause=0.02227
client 0.0: take q=1 via=1 pause=0.001574 limit=0.6084
client 1.0: add v=0 k=43 via=-1 pause=0.02106
client 0.0: compute a=1 b=0 x=3 pause=0.01486
client 1.0: extend a=1 b=0 x=1 n=7 pause=0.02711 limit=0.003351
client 0.0: add v=1 k=49 via=1 pause=0.02405
client 1.0: reduce x=50 pause=0.0329
client 0.0: compute a=1 b=0 x=3 pause=0.03529
client 1.0: take q=0 via=-1 pause=0.004021 limit=0.1958
client 0.0: add v=0 k=44 via=-1 pause=0.01392
client 1.0: extend a=1 b=0 x=100 n=8 pause=0.001484
client 0.0: compute a=0 b=0 x=100 pause=0.01876
client 1.0: add v=0 k=45 via=-1 pause=0.008645 cancel=0.07368
client 0.0: add v=1 k=50 via=-1 pause=0.001583
client 1.0: add v=0 k=46 via=1 pause=0.002003
client 0.0: guard v=1 k=51 at=0 pause=0.003042
client 1.0: compute a=0 b=0 x=100 pause=0.01474 limit=0.5454
fault 0.00942613 narrow client-1 client-0 by 412442 for 5.83376
fault 0.114941 jump client-0 by 4.3132
fault 0.450903 stall client-0 for 0.00670402
fault 0.525428 fail worker-1 for 0.254139 after 184
fault 0.856223 narrow client-1 worker-1 by 694158 for 1.39259
fault 0.86585 stall worker-1 for 0.103884
fault 0.938372 narrow worker-1 client-1 by 61722.6 for 8.98667
fault 0.954696 power worker-0 after 382
