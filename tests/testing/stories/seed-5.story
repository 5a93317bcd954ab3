seed 5
setting jobs=worker:2 clients=3 lanes=3 restart=1000 down=1.217 snapshot_every=2.517 lease=2.678 shuffle=0
client 0.0: add v=1 k=0 via=0 pause=0.001307
client 1.0: add v=1 k=1 via=0 pause=0.01108
client 2.0: pair v=1 k=2 w=0 l=0 pause=0.001439
client 0.1: add v=1 k=3 via=0 pause=0.006101
client 1.1: extend a=1 b=0 x=1 n=0 pause=0.0005467
client 2.1: guard v=1 k=4 at=0 pause=0.009416
client 0.2: put q=1 e=0 via=-1 pause=0.005239
client 1.2: guard v=0 k=1 at=0 pause=0.003702
client 2.2: take q=0 via=-1 pause=0.003389 limit=0.1067
client 0.0: add v=0 k=2 via=0 pause=0.00488 limit=6.803
client 1.0: put q=1 e=1 via=-1 pause=0.002206
client 2.0: take q=0 via=0 pause=0.004859 limit=5.294
client 0.1: meet at=0 pause=0.007726 limit=0.02567
client 1.1: meet at=1 pause=0.007726 limit=0.02567
client 1.1: pair v=1 k=5 w=0 l=3 pause=0.001744
client 2.1: add v=1 k=6 via=-1 pause=0.001811
client 0.2: add v=0 k=4 via=-1 pause=0.003885 limit=5.268
client 1.2: guard v=1 k=7 at=0 pause=0.003075
client 2.2: put q=0 e=2 via=0 pause=0.02351
client 0.0: add v=0 k=5 via=0 pause=0.003329
client 1.0: read v=0 pause=0.0008695
client 2.0: pair v=1 k=8 w=0 l=6 pause=0.03334
client 0.1: extend a=0 b=0 x=3 n=1 pause=0.003675
client 1.1: take q=1 via=0 pause=0.005501 cancel=0.001208
client 2.1: compute a=1 b=0 x=1 pause=0.004164
client 0.2: extend a=1 b=0 x=1 n=2 pause=0.0009971
client 1.2: extend a=1 b=0 x=100 n=3 pause=0.0002703
client 2.2: add v=0 k=7 via=-1 pause=0.005147 limit=0.02094
client 0.0: add v=1 k=9 via=0 pause=0.0006757
client 1.0: put q=0 e=3 via=-1 pause=0.001005
client 2.0: take q=0 via=-1 pause=0.003239 limit=0.05458
client 0.1: add v=1 k=10 via=0 pause=0.001321
client 1.1: take q=0 via=-1 pause=0.001916 limit=8.704
client 2.1: read v=0 pause=0.005704
client 0.2: take q=1 via=-1 pause=0.003269 limit=0.06868
client 1.2: put q=0 e=4 via=-1 pause=0.00391
client 2.2: extend a=1 b=0 x=1 n=4 pause=0.00531
client 0.0: add v=1 k=11 via=-1 pause=0.0009007
client 1.0: take q=0 via=-1 pause=0.001808 limit=0.001455
client 2.0: add v=0 k=8 via=-1 pause=0.007459
client 0.1: add v=1 k=12 via=0 pause=0.0055 limit=0.7013
client 1.1: compute a=1 b=0 x=3 pause=0.006196
client 2.1: compute a=1 b=0 x=1 pause=0.002972
client 0.2: compute a=0 b=0 x=1 pause=0.007964 limit=0.01426
client 1.2: put q=1 e=5 via=-1 pause=0.000683
client 2.2: take q=0 via=0 pause=5.916e-05 limit=0.1593
client 0.0: reduce x=1 pause=0.02369
client 1.0: put q=0 e=6 via=0 pause=0.0043
client 2.0: guard v=1 k=13 at=0 pause=0.01519
client 0.1: pair v=0 k=9 w=1 l=14 pause=0.005493
client 1.1: take q=1 via=-1 pause=0.0262 limit=0.2017
client 2.1: add v=1 k=15 via=-1 pause=0.01041 cancel=0.00827
client 0.2: reduce x=1 pause=0.0003248
client 1.2: take q=0 via=-1 pause=0.002505 limit=0.06382
client 2.2: add v=0 k=10 via=0 pause=0.0139
client 0.0: pair v=0 k=11 w=1 l=16 pause=0.005346
client 1.0: add v=0 k=12 via=-1 pause=0.008524 cancel=0.07484
client 2.0: take q=0 via=0 pause=0.006279 limit=0.001308
client 0.1: reduce x=50 pause=0.0009546
client 1.1: add v=0 k=13 via=-1 pause=0.009479
client 2.1: add v=0 k=14 via=0 pause=0.003433
client 0.2: meet at=2 pause=0.005491 cancel=0.05733
client 1.2: meet at=3 pause=0.005491 cancel=0.05733
client 1.2: guard v=0 k=15 at=0 pause=0.003897
client 2.2: put q=0 e=7 via=-1 pause=0.001073
client 0.0: take q=0 via=-1 pause=0.006174 limit=2.193
client 1.0: add v=1 k=17 via=0 pause=0.003088
client 2.0: partial a=1 b=0 x=3 pause=0.006058
client 0.1: take q=0 via=-1 pause=0.004381 limit=0.08874
client 1.1: guard v=0 k=16 at=0 pause=0.0041
client 2.1: compute a=0 b=0 x=100 pause=0.00973
client 0.2: take q=1 via=0 pause=0.005414 limit=0.02899
client 1.2: pair v=0 k=17 w=1 l=18 pause=0.008109
client 2.2: read v=0 pause=0.01048 limit=0.001589
client 0.0: put q=0 e=8 via=-1 pause=0.000315
client 1.0: read v=0 pause=0.0001401
client 2.0: reduce x=1 pause=0.006591
client 0.1: take q=1 via=0 pause=0.01395 limit=0.8027
client 1.1: put q=0 e=9 via=0 pause=0.01888
client 2.1: add v=1 k=19 via=0 pause=0.004376
client 0.2: take q=0 via=0 pause=0.006702 limit=3.059
client 1.2: add v=1 k=20 via=0 pause=0.001248
client 2.2: pair v=1 k=21 w=0 l=18 pause=0.00375
client 0.0: put q=1 e=10 via=0 pause=0.006796
client 0.0: meet at=4 pause=0.004663 cancel=0.1254
client 1.0: meet at=5 pause=0.004663 cancel=0.1254
client 2.0: compute a=1 b=0 x=1 pause=0.02026
client 0.1: take q=0 via=0 pause=0.003107 limit=0.0264
client 1.1: extend a=1 b=0 x=1 n=5 pause=0.005248
client 2.1: put q=1 e=11 via=-1 pause=0.007769
client 0.2: take q=0 via=0 pause=0.002378 limit=0.01498
client 1.2: read v=1 pause=0.002719
client 2.2: take q=1 via=0 pause=0.0007873 limit=0.2808
client 0.0: put q=1 e=12 via=0 pause=0.01178 cancel=0.08892
client 1.0: add v=0 k=19 via=-1 pause=0.00318 limit=5.566
client 2.0: add v=0 k=20 via=-1 pause=0.0001116
client 0.1: add v=0 k=21 via=-1 pause=0.02191
client 1.1: guard v=0 k=22 at=0 pause=0.0009337
client 2.1: take q=0 via=-1 pause=0.005233 limit=0.1875
client 0.2: add v=1 k=22 via=0 pause=0.002625
client 1.2: partial a=1 b=0 x=100 pause=0.004951
client 2.2: put q=1 e=13 via=0 pause=0.003569
client 0.0: put q=1 e=14 via=-1 pause=0.004886 cancel=7.241
client 1.0: partial a=1 b=0 x=1 pause=0.002539
client 2.0: put q=1 e=15 via=-1 pause=0.005431
client 0.1: compute a=1 b=0 x=3 pause=0.004039
client 1.1: pair v=1 k=23 w=0 l=23 pause=0.004133
client 2.1: compute a=0 b=0 x=100 pause=0.004177
client 0.2: read v=0 pause=0.001996
client 1.2: extend a=1 b=0 x=3 n=6 pause=0.003221
client 2.2: guard v=0 k=24 at=0 pause=0.005791
client 0.0: add v=0 k=25 via=-1 pause=0.004942
client 1.0: add v=0 k=26 via=0 pause=0.00515
client 2.0: take q=0 via=-1 pause=0.001044 limit=0.2151
client 0.1: pair v=0 k=27 w=1 l=24 pause=0.01207
client 1.1: add v=0 k=28 via=-1 pause=0.007892
client 2.1: pair v=0 k=29 w=1 l=25 pause=0.004135
client 0.2: add v=1 k=26 via=0 pause=0.001141
client 1.2: add v=1 k=27 via=0 pause=0.00308 cancel=2.59
client 2.2: read v=0 pause=0.00405
client 0.0: guard v=0 k=30 at=0 pause=0.000703
client 1.0: guard v=1 k=28 at=0 pause=0.01302
client 2.0: compute a=1 b=0 x=100 pause=0.00366
client 0.1: take q=0 via=0 pause=0.02436 limit=0.5187
client 1.1: put q=1 e=16 via=-1 pause=0.0003642
client 2.1: compute a=1 b=0 x=1 pause=0.0009789 limit=6.036
client 0.2: meet at=6 pause=0.008451 limit=0.03516
client 1.2: meet at=7 pause=0.008451 limit=0.03516
client 1.2: guard v=1 k=29 at=0 pause=0.0004385
client 0.2: meet at=8 pause=0.00341 limit=0.02222
client 1.2: meet at=9 pause=0.00341 limit=0.02222
client 0.0: take q=0 via=-1 pause=0.02338 limit=0.001859
client 1.0: pair v=1 k=30 w=0 l=31 pause=0.004744
client 2.0: add v=1 k=31 via=-1 pause=0.006825
client 0.1: add v=0 k=32 via=0 pause=0.002021
client 1.1: add v=0 k=33 via=-1 pause=0.004348
client 2.1: compute a=1 b=0 x=100 pause=0.0004107 limit=0.01516
client 0.2: compute a=0 b=0 x=100 pause=0.02101
client 1.2: add v=0 k=34 via=-1 pause=0.009464
client 2.2: add v=0 k=35 via=0 pause=0.01009 limit=0.2721
client 0.0: compute a=0 b=0 x=3 pause=0.002678
client 1.0: reduce x=1 pause=0.0001867
client 2.0: pair v=0 k=36 w=1 l=32 pause=0.01104
client 0.1: take q=1 via=-1 pause=0.003099 limit=0.02644
client 1.1: add v=0 k=37 via=-1 pause=0.001123
client 2.1: add v=0 k=38 via=-1 pause=0.001055
client 0.2: compute a=0 b=0 x=3 pause=0.005059
client 1.2: add v=0 k=39 via=-1 pause=0.007421
client 2.2: take q=0 via=0 pause=0.002974 limit=0.1933
client 0.0: take q=0 via=-1 pause=0.0005423 limit=0.01289
client 1.0: add v=0 k=40 via=-1 pause=0.007339 limit=0.001093
client 2.0: compute a=1 b=0 x=3 pause=0.0298
client 0.1: read v=1 pause=0.007033
client 1.1: add v=0 k=41 via=0 pause=0.004834 limit=9.48
client 2.1: reopen pause=0.003854
client 0.2: take q=1 via=0 pause=0.009876 limit=0.001006
client 1.2: compute a=0 b=0 x=1 pause=0.003056
client 2.2: add v=0 k=42 via=-1 pause=0.003757
client 0.0: add v=1 k=33 via=0 pause=0.001827
client 1.0: add v=0 k=43 via=-1 pause=0.01951
client 2.0: add v=1 k=34 via=0 pause=0.003569
client 0.1: take q=0 via=-1 pause=0.02734 limit=0.009515
client 1.1: put q=1 e=17 via=-1 pause=0.002739
client 2.1: read v=1 pause=0.003982
client 0.2: put q=0 e=18 via=0 pause=0.004102
client 1.2: compute a=0 b=0 x=3 pause=0.00261
client 2.2: take q=0 via=-1 pause=9.224e-05 limit=0.01905
client 0.0: compute a=1 b=0 x=100 pause=0.008657
client 1.0: add v=0 k=44 via=-1 pause=0.002198
client 2.0: add v=0 k=45 via=0 pause=0.002263
client 0.1: compute a=0 b=0 x=100 pause=0.00342
client 1.1: compute a=1 b=0 x=100 pause=0.001941
client 2.1: take q=1 via=0 pause=0.0008765 limit=0.0236
client 0.2: add v=0 k=46 via=0 pause=0.0099 cancel=0.0228
client 1.2: take q=0 via=-1 pause=0.002583 limit=0.3507
client 2.2: guard v=1 k=35 at=0 pause=0.01032
client 0.0: add v=0 k=47 via=0 pause=0.005124 cancel=0.001648
client 1.0: add v=1 k=36 via=-1 pause=0.007668 cancel=0.06952
client 2.0: put q=1 e=19 via=0 pause=0.005669
client 0.1: put q=1 e=20 via=-1 pause=0.00373
client 1.1: pair v=0 k=48 w=1 l=37 pause=0.003945
client 2.1: add v=0 k=49 via=0 pause=0.01541
client 0.2: partial a=0 b=0 x=1 pause=0.003612
client 1.2: read v=0 pause=0.0007389
client 2.2: compute a=0 b=0 x=1 pause=0.0001452
client 0.0: compute a=1 b=0 x=100 pause=0.003936
client 1.0: take q=1 via=-1 pause=0.005749 limit=0.3947
client 2.0: add v=0 k=50 via=-1 pause=0.003436
client 0.1: add v=0 k=51 via=0 pause=0.001957
client 1.1: guard v=0 k=52 at=0 pause=0.001841 cancel=1.449
client 2.1: compute a=0 b=0 x=3 pause=0.007994
client 0.2: put q=0 e=21 via=0 pause=0.01071
client 1.2: read v=1 pause=0.01903
client 2.2: add v=0 k=53 via=0 pause=0.001846
client 0.0: put q=1 e=22 via=-1 pause=0.01019
client 1.0: read v=1 pause=0.01192 limit=0.122
client 2.0: reduce x=50 pause=0.008604
client 0.1: compute a=0 b=0 x=100 pause=0.002407
client 1.1: add v=0 k=54 via=0 pause=0.005013
client 2.1: reopen pause=0.009964 cancel=0.002412
client 0.2: put q=0 e=23 via=0 pause=0.01405
client 1.2: read v=0 pause=0.01206
client 2.2: add v=0 k=55 via=-1 pause=0.01417
client 0.0: take q=0 via=0 pause=0.004481 limit=0.3446
client 1.0: add v=0 k=56 via=-1 pause=0.006651 cancel=0.4389
fault 0.0111496 power worker-1 after 371
fault 0.0647871 restart worker-1 after 355
fault 0.0967413 stall worker-1 for 0.644902
fault 0.107302 power worker-0 after 183
fault 0.11487 stall worker-1 for 10.6072
fault 0.115422 cut client-1 client-2
fault 0.128663 crash worker-0 after 8
fault 0.160631 cut client-1 client-2
