seed 111
setting jobs=ps:2,worker:2 clients=3 lanes=2 restart=3 down=9.93 snapshot_every=0.0 lease=5.453 shuffle=0
client 0.0: add v=1 k=0 via=3 pause=0.08171
client 1.0: add v=1 k=1 via=-1 pause=0.001035
client 2.0: compute a=1 b=1 x=100 pause=0.02606
client 0.1: put q=1 e=0 via=3 pause=0.02743
client 1.1: pair v=3 k=0 w=0 l=0 pause=0.004743
client 2.1: extend a=1 b=1 x=100 n=0 pause=0.04183 cancel=2.923
client 0.0: take q=1 via=-1 pause=0.009279 limit=0.03292
client 1.0: compute a=1 b=1 x=3 pause=0.0123
client 2.0: compute a=1 b=1 x=3 pause=0.01114
client 0.1: pair v=3 k=1 w=1 l=2 pause=0.002034 limit=0.03311
client 1.1: add v=1 k=3 via=3 pause=0.005251
client 2.1: take q=1 via=3 pause=0.006317 limit=0.06234
client 0.0: add v=2 k=0 via=-1 pause=0.01038
client 1.0: extend a=1 b=1 x=1 n=1 pause=0.01319
client 2.0: reduce x=50 pause=0.006852 limit=5.159
client 0.1: put q=0 e=1 via=3 pause=0.01893
client 1.1: add v=2 k=1 via=-1 pause=0.01364
client 2.1: reduce x=1 pause=0.03168
client 0.0: add v=2 k=2 via=3 pause=0.006536
client 1.0: compute a=3 b=1 x=3 pause=0.01689
client 2.0: pair v=1 k=4 w=3 l=2 pause=0.002517 limit=0.8727
client 0.1: pair v=2 k=3 w=3 l=3 pause=0.006464 limit=0.278
client 1.1: compute a=1 b=1 x=100 pause=0.002622
client 2.1: add v=2 k=4 via=-1 pause=0.004056
client 0.0: add v=1 k=5 via=-1 pause=0.0003824
client 1.0: compute a=3 b=1 x=100 pause=0.01492
client 2.0: take q=0 via=-1 pause=0.003185 limit=0.08393
client 0.1: compute a=1 b=1 x=100 pause=0.03505
client 1.1: add v=0 k=1 via=3 pause=0.006871 cancel=0.8598
client 2.1: take q=1 via=3 pause=0.1029 limit=2.696
client 0.0: read v=1 pause=0.006135 limit=0.2879
client 1.0: compute a=1 b=1 x=3 pause=0.009809
client 2.0: pair v=0 k=2 w=1 l=6 pause=0.005622
client 0.1: add v=0 k=3 via=3 pause=0.02365 cancel=0.01667
client 1.1: take q=0 via=-1 pause=0.05509 limit=0.007594
client 2.1: add v=3 k=4 via=-1 pause=0.005476
client 0.0: add v=2 k=5 via=3 pause=0.007522
client 1.0: compute a=3 b=1 x=3 pause=0.006418
client 2.0: add v=1 k=7 via=3 pause=0.0442
client 0.1: take q=0 via=-1 pause=0.01987 limit=0.6522
client 1.1: take q=1 via=-1 pause=0.01176 limit=0.00283
client 2.1: take q=1 via=-1 pause=0.05942 limit=2.098
client 0.0: partial a=1 b=1 x=100 pause=0.03226
client 0.0: meet at=0 pause=0.01816 limit=0.004915
client 1.0: meet at=1 pause=0.01816 limit=0.004915
client 2.0: reduce x=1 pause=0.01191
client 0.1: add v=1 k=8 via=3 pause=0.000869
client 1.1: take q=1 via=3 pause=0.002954 limit=0.02585
client 2.1: take q=0 via=3 pause=0.003076 limit=0.02291
client 0.0: put q=0 e=2 via=3 pause=0.017 cancel=0.0814
client 1.0: compute a=1 b=1 x=100 pause=0.02983
client 2.0: put q=1 e=3 via=3 pause=0.02866
client 0.1: extend a=3 b=1 x=1 n=2 pause=0.01632
client 1.1: add v=1 k=9 via=-1 pause=0.01859
client 2.1: add v=2 k=6 via=3 pause=0.004639 cancel=4.397
client 0.0: put q=0 e=4 via=3 pause=0.0002272
client 1.0: compute a=1 b=1 x=1 pause=0.04208
client 2.0: pair v=0 k=4 w=2 l=7 pause=0.01167
client 0.1: take q=1 via=3 pause=0.001163 cancel=0.007464
client 1.1: pair v=0 k=5 w=2 l=8 pause=0.001094 cancel=0.01126
client 2.1: pair v=2 k=9 w=0 l=6 pause=0.02859
client 0.0: put q=1 e=5 via=-1 pause=0.001522
client 1.0: read v=1 pause=0.0106
client 2.0: take q=1 via=-1 pause=0.008206 limit=0.1848
client 0.1: meet at=2 pause=0.01516 limit=0.06483
client 1.1: meet at=3 pause=0.01516 limit=0.06483
client 1.1: take q=1 via=3 pause=0.01151 limit=0.03088
client 2.1: read v=2 pause=0.001431
client 0.0: add v=2 k=10 via=-1 pause=0.01044
client 1.0: add v=1 k=10 via=-1 pause=0.007391
client 2.0: add v=2 k=11 via=3 pause=0.02155
client 0.1: extend a=1 b=1 x=1 n=3 pause=0.06142
client 1.1: guard v=1 k=11 at=1 pause=0.008475
client 2.1: reduce x=1 pause=0.05785 cancel=0.07602
client 0.0: add v=1 k=12 via=-1 pause=0.005861
client 1.0: partial a=1 b=1 x=3 pause=0.007627
client 2.0: take q=0 via=3 pause=0.0093 limit=0.002396
client 0.1: put q=1 e=6 via=-1 pause=0.01134
client 1.1: pair v=0 k=7 w=1 l=13 pause=0.01559 limit=0.03087
client 2.1: add v=1 k=14 via=-1 pause=0.001433
client 0.0: add v=3 k=5 via=3 pause=0.02928
client 1.0: take q=0 via=3 pause=0.004238 limit=0.003739
client 2.0: take q=1 via=-1 pause=0.03 limit=0.006012
client 0.1: put q=1 e=7 via=3 pause=0.0001001
client 1.1: read v=3 pause=0.0009276
client 2.1: put q=1 e=8 via=-1 pause=0.002301 cancel=0.8352
client 0.0: add v=3 k=6 via=-1 pause=0.004254 limit=0.003628
client 1.0: put q=1 e=9 via=3 pause=0.0686
client 2.0: add v=2 k=12 via=-1 pause=0.02817
client 0.1: add v=2 k=13 via=-1 pause=0.006908
client 1.1: pair v=2 k=14 w=1 l=15 pause=0.003002
client 2.1: put q=0 e=10 via=3 pause=0.003736
client 0.0: partial a=3 b=1 x=100 pause=0.01834
client 1.0: compute a=3 b=1 x=100 pause=0.01553
client 2.0: take q=0 via=-1 pause=0.02895 limit=1.526
client 0.1: add v=0 k=8 via=3 pause=0.009252
client 1.1: pair v=0 k=9 w=1 l=16 pause=0.02297 cancel=0.01376
client 2.1: pair v=0 k=10 w=1 l=17 pause=0.01145
client 0.0: compute a=3 b=1 x=1 pause=0.001258
client 1.0: read v=1 pause=0.00447
client 2.0: add v=1 k=18 via=3 pause=0.01337
client 0.1: take q=1 via=-1 pause=0.01429 limit=0.4968
client 1.1: put q=1 e=11 via=3 pause=0.0122
client 2.1: compute a=3 b=1 x=100 pause=0.02223
client 0.0: compute a=3 b=1 x=100 pause=0.02172
client 1.0: pair v=1 k=19 w=0 l=11 pause=0.0289
client 2.0: add v=3 k=7 via=3 pause=0.003124
client 0.1: put q=0 e=12 via=3 pause=0.004991 cancel=6.61
client 1.1: extend a=3 b=1 x=3 n=4 pause=0.009646
client 2.1: compute a=1 b=1 x=3 pause=0.009222
client 0.0: compute a=3 b=1 x=1 pause=0.04241 cancel=0.1124
client 1.0: read v=2 pause=0.05861
client 2.0: add v=2 k=15 via=3 pause=0.0253
client 0.1: guard v=1 k=20 at=1 pause=0.009275
client 1.1: extend a=3 b=1 x=1 n=5 pause=0.00468
client 2.1: compute a=1 b=1 x=1 pause=0.008569
client 0.0: put q=0 e=13 via=3 pause=0.01554
client 1.0: compute a=3 b=1 x=100 pause=0.01768
client 2.0: add v=0 k=12 via=3 pause=0.02763
client 0.1: put q=0 e=14 via=-1 pause=0.01045
client 1.1: partial a=1 b=1 x=1 pause=0.0004681
client 2.1: reduce x=50 pause=0.002617
client 0.0: put q=0 e=15 via=-1 pause=0.01379
client 1.0: add v=3 k=8 via=-1 pause=0.0002049
client 2.0: compute a=1 b=1 x=100 pause=0.01132
client 0.1: add v=2 k=16 via=-1 pause=0.02916
client 1.1: put q=1 e=16 via=-1 pause=0.01537
client 2.1: compute a=1 b=1 x=3 pause=0.002131
client 0.0: add v=1 k=21 via=-1 pause=0.03579
client 1.0: add v=3 k=9 via=-1 pause=0.001804
client 2.0: add v=2 k=17 via=3 pause=0.007152
client 0.1: partial a=3 b=1 x=100 pause=0.0268
client 1.1: read v=2 pause=0.02379
client 2.1: add v=0 k=13 via=3 pause=0.007107
client 0.0: pair v=2 k=18 w=1 l=22 pause=0.01949
client 1.0: put q=1 e=17 via=-1 pause=0.02258
client 2.0: partial a=1 b=1 x=100 pause=0.01511
client 0.1: compute a=1 b=1 x=3 pause=0.00747
client 1.1: add v=0 k=14 via=3 pause=0.01144
client 2.1: add v=3 k=10 via=3 pause=0.006432
client 0.0: put q=0 e=18 via=3 pause=0.03024
client 1.0: put q=0 e=19 via=-1 pause=0.003085
client 2.0: take q=0 via=3 pause=0.03602 limit=0.006076
client 0.1: extend a=3 b=1 x=100 n=6 pause=0.0006796 limit=0.0187
client 1.1: take q=0 via=3 pause=0.003466 limit=0.8821
client 2.1: compute a=3 b=1 x=3 pause=0.002935
client 0.0: put q=1 e=20 via=-1 pause=0.01452
client 1.0: take q=1 via=3 pause=0.000789 limit=0.04279
client 2.0: guard v=0 k=15 at=1 pause=0.0622 cancel=0.003469
client 0.1: add v=0 k=16 via=-1 pause=0.002057
client 1.1: guard v=2 k=19 at=1 pause=0.00501
client 2.1: compute a=1 b=1 x=100 pause=0.01305
client 0.0: add v=0 k=17 via=3 pause=0.01582
client 1.0: pair v=3 k=11 w=1 l=23 pause=0.0312
client 2.0: put q=1 e=21 via=-1 pause=0.04712
client 0.1: add v=0 k=18 via=-1 pause=0.01444
client 1.1: guard v=0 k=19 at=1 pause=0.0002471
client 2.1: put q=1 e=22 via=-1 pause=0.07686
client 0.0: put q=0 e=23 via=3 pause=0.0185
client 1.0: add v=1 k=24 via=3 pause=0.0451
client 2.0: compute a=1 b=1 x=3 pause=0.0135
client 0.1: add v=0 k=20 via=-1 pause=0.1127
client 1.1: guard v=0 k=21 at=1 pause=0.003287
client 2.1: partial a=1 b=1 x=100 pause=0.006056
client 0.0: pair v=3 k=12 w=1 l=25 pause=0.03328
client 1.0: compute a=3 b=1 x=3 pause=0.0339
client 2.0: take q=1 via=-1 pause=0.002208 limit=3.776
client 0.1: read v=2 pause=0.0004067 cancel=0.1319
client 1.1: add v=0 k=22 via=3 pause=0.00448
client 2.1: put q=0 e=24 via=3 pause=0.0714
client 0.0: add v=2 k=20 via=3 pause=0.002316
client 1.0: add v=3 k=13 via=3 pause=0.003028
client 2.0: compute a=3 b=1 x=100 pause=0.01711
client 0.1: partial a=3 b=1 x=3 pause=0.01057
client 1.1: put q=0 e=25 via=3 pause=0.04608
client 2.1: extend a=1 b=1 x=100 n=7 pause=0.01571
client 0.0: put q=0 e=26 via=3 pause=0.07837
client 1.0: compute a=3 b=1 x=3 pause=0.02667
client 2.0: compute a=1 b=1 x=1 pause=0.03172 limit=1.577
client 0.1: meet at=4 pause=0.01361 limit=0.04793
client 1.1: meet at=5 pause=0.01361 limit=0.04793
client 1.1: reduce x=1 pause=0.03212 cancel=0.4717
client 2.1: put q=1 e=27 via=-1 pause=0.0006821
client 0.0: take q=1 via=3 pause=0.00601 limit=0.3248
client 1.0: take q=1 via=-1 pause=0.01764 limit=0.01063
client 2.0: take q=1 via=3 pause=0.02264 limit=2.165
client 0.1: put q=0 e=28 via=-1 pause=0.0511
client 1.1: compute a=1 b=1 x=3 pause=0.006776
client 2.1: compute a=3 b=1 x=1 pause=0.0002175
client 0.0: take q=0 via=-1 pause=0.0004513 limit=0.6878
client 1.0: add v=2 k=21 via=3 pause=0.001977
client 2.0: pair v=3 k=14 w=1 l=26 pause=0.03487
client 0.1: compute a=1 b=1 x=100 pause=0.008879
client 1.1: reduce x=50 pause=0.0005392 limit=0.04192
client 2.1: partial a=3 b=1 x=1 pause=0.0008146
client 0.0: pair v=3 k=15 w=0 l=23 pause=0.00276
client 1.0: add v=2 k=22 via=-1 pause=0.04239
client 2.0: add v=3 k=16 via=3 pause=0.00745
client 0.1: take q=0 via=-1 pause=0.01783 limit=0.03223
client 1.1: take q=0 via=3 pause=0.008685 limit=0.002123
client 2.1: compute a=1 b=1 x=1 pause=0.006286
client 0.0: pair v=2 k=23 w=0 l=24 pause=0.08701
client 1.0: compute a=1 b=1 x=1 pause=0.03068
fault 0.0474516 cut client-1 client-2
fault 0.0546704 slow worker-0 ps-0 by 0.179236 for 4.60634
fault 0.0956043 restart ps-1 after 200
fault 0.205881 jump ps-1 by 0.00446298
fault 0.289607 narrow client-2 worker-1 by 4226.02 for 2.00607
fault 0.293626 restart ps-1 after 204
fault 0.316175 slow client-2 ps-0 by 0.00136512 for 3.32404
fault 0.578141 narrow ps-1 client-0 by 5366.28 for 0.210299
