seed 2698
setting jobs=ps:1,worker:2 clients=2 lanes=2 restart=3 down=2.703 snapshot_every=0.0 lease=4.864 shuffle=0
client 0.0: partial a=2 b=1 x=100 pause=0.1121 cancel=0.841
client 1.0: guard v=0 k=0 at=1 pause=0.01181
client 0.1: put q=1 e=0 via=2 pause=0.2538
client 1.1: read v=1 pause=0.02001
client 0.0: take q=0 via=-1 pause=0.03311 limit=6.429
client 1.0: compute a=2 b=1 x=100 pause=0.1458 limit=0.0025
client 0.1: compute a=0 b=2 x=1 pause=0.0369
client 1.1: pair v=2 k=0 w=1 l=0 pause=0.06913
client 0.0: meet at=0 pause=0.05067 limit=5.63
client 1.0: meet at=1 pause=0.05067 limit=5.63
client 1.0: add v=2 k=1 via=-1 pause=0.1832
client 0.1: pair v=2 k=2 w=0 l=1 pause=0.1711
client 1.1: add v=1 k=1 via=-1 pause=0.2273 limit=1.679
client 0.0: visit a=2 x=1 pause=0.02836
client 1.0: add v=1 k=2 via=2 pause=0.09558
client 0.1: put q=0 e=1 via=-1 pause=0.1362
client 1.1: pair v=1 k=3 w=0 l=2 pause=0.1226
client 0.0: add v=1 k=4 via=-1 pause=0.1186
client 1.0: put q=1 e=2 via=2 pause=0.007903
client 0.1: take q=1 via=-1 pause=0.05823 cancel=3.357
client 1.1: pair v=1 k=5 w=0 l=3 pause=0.1077
client 0.0: guard v=1 k=6 at=1 pause=0.0495
client 1.0: restore pause=0.009284
client 0.1: guard v=1 k=7 at=1 pause=0.2079
client 1.1: compute a=0 b=2 x=3 pause=0.06506
client 0.0: compute a=0 b=2 x=1 pause=0.09989
client 1.0: compute a=2 b=1 x=3 pause=0.02809
client 0.1: take q=0 via=-1 pause=0.08512 limit=0.006137
client 1.1: read v=1 pause=0.1513
client 0.0: take q=1 via=-1 pause=0.09229 limit=0.2755
client 1.0: partial a=2 b=1 x=3 pause=0.09041
client 0.1: guard v=0 k=4 at=1 pause=0.04603
client 1.1: compute a=2 b=1 x=100 pause=0.02991 limit=0.006048
client 0.0: take q=1 via=2 pause=0.03121 limit=0.005713
client 1.0: read v=0 pause=0.1
client 0.1: pair v=1 k=8 w=0 l=5 pause=0.03986 cancel=1.129
client 1.1: put q=0 e=3 via=2 pause=0.1175
client 0.0: read v=1 pause=0.1162 cancel=0.1946
client 1.0: put q=0 e=4 via=-1 pause=0.03552
client 0.1: take q=0 via=-1 pause=0.02517 limit=0.0157
client 1.1: add v=1 k=9 via=2 pause=0.02631
client 0.0: compute a=0 b=2 x=100 pause=0.07383 limit=0.001328
client 1.0: compute a=0 b=2 x=3 pause=0.08943 limit=0.00153
client 0.1: add v=0 k=6 via=2 pause=0.3468
client 1.1: add v=0 k=7 via=2 pause=0.1126 limit=2.369
client 0.0: compute a=0 b=2 x=3 pause=0.0477 limit=0.00589
client 1.0: visit a=1 x=1 pause=0.04506
client 0.1: take q=1 via=2 pause=0.05645 limit=0.5663
client 0.1: meet at=2 pause=0.08808 limit=2.019
client 1.1: meet at=3 pause=0.08808 limit=2.019
client 0.0: partial a=2 b=1 x=100 pause=0.03849
client 1.0: guard v=1 k=10 at=1 pause=0.02541
client 0.1: add v=0 k=8 via=2 pause=0.1544
client 1.1: add v=2 k=3 via=-1 pause=0.2453
client 0.0: pair v=2 k=4 w=0 l=9 pause=0.05343
client 1.0: add v=1 k=11 via=-1 pause=0.02563
client 0.1: compute a=0 b=2 x=3 pause=0.03812
client 1.1: partial a=2 b=1 x=100 pause=0.1626
client 0.0: extend a=0 b=2 x=1 n=0 pause=0.1474
client 1.0: reduce x=50 pause=0.01031
client 0.1: compute a=0 b=2 x=3 pause=0.03095
client 1.1: add v=1 k=12 via=-1 pause=0.02678
client 0.0: read v=0 pause=0.2792
client 1.0: compute a=0 b=2 x=100 pause=0.1668
client 0.1: compute a=2 b=1 x=1 pause=0.2541
client 1.1: put q=1 e=5 via=-1 pause=0.0005675
client 0.0: read v=2 pause=0.1239
client 1.0: pair v=1 k=13 w=0 l=10 pause=0.1043
client 0.1: put q=1 e=6 via=2 pause=0.0283
client 1.1: compute a=0 b=2 x=1 pause=0.03733
client 0.0: extend a=0 b=2 x=100 n=1 pause=0.3652 limit=0.3936
client 1.0: restore pause=0.1808
client 0.1: add v=1 k=14 via=-1 pause=0.1041
client 1.1: put q=0 e=7 via=-1 pause=0.1681
client 0.0: meet at=4 pause=0.1121 limit=0.7307
client 1.0: meet at=5 pause=0.1121 limit=0.7307
client 1.0: add v=2 k=5 via=-1 pause=0.007637
client 0.1: partial a=0 b=2 x=100 pause=0.02032
client 1.1: take q=1 via=2 pause=0.2898 limit=0.1593
client 0.0: take q=0 via=2 pause=0.1311 limit=2.479
client 1.0: add v=1 k=15 via=2 pause=0.07834 limit=0.04414
client 0.1: guard v=0 k=11 at=1 pause=0.3539
client 1.1: add v=2 k=6 via=-1 pause=0.159 cancel=0.00221
client 0.0: meet at=6 pause=0.09964 limit=0.01916
client 1.0: meet at=7 pause=0.09964 limit=0.01916
client 1.0: take q=0 via=2 pause=0.1963 limit=1.739
client 0.1: put q=1 e=8 via=2 pause=0.0485
client 1.1: add v=0 k=12 via=2 pause=0.01975
client 0.0: put q=1 e=9 via=2 pause=0.01654
client 1.0: add v=1 k=16 via=-1 pause=0.1124
client 0.1: pair v=2 k=7 w=0 l=13 pause=0.01065
client 1.1: put q=1 e=10 via=-1 pause=0.08357 limit=0.002822
client 0.0: read v=2 pause=0.263
client 1.0: visit a=0 x=50 pause=0.00205
client 0.1: compute a=2 b=1 x=100 pause=0.1766
client 1.1: reduce x=1 pause=0.04753
client 0.0: take q=1 via=-1 pause=0.008426 limit=0.2892
client 1.0: reduce x=50 pause=0.0202
client 0.1: meet at=8 pause=0.04768 limit=0.1629
client 1.1: meet at=9 pause=0.04768 limit=0.1629
client 1.1: extend a=2 b=1 x=3 n=2 pause=0.2428
client 0.0: visit a=2 x=50 pause=0.2109
client 1.0: pair v=1 k=17 w=2 l=8 pause=0.008486
client 0.1: compute a=0 b=2 x=100 pause=0.03568 limit=0.1931
client 1.1: take q=1 via=2 pause=0.1351 limit=0.001739
client 0.0: add v=0 k=14 via=2 pause=0.03095
client 1.0: compute a=0 b=2 x=100 pause=0.149
client 0.1: take q=0 via=2 pause=0.03557 limit=0.4296
client 1.1: visit a=0 x=50 pause=0.1142 cancel=0.008157
client 0.0: add v=1 k=18 via=-1 pause=0.07874 limit=0.08698
client 1.0: add v=1 k=19 via=-1 pause=0.1624 cancel=1.032
client 0.1: put q=0 e=11 via=2 pause=0.1103 limit=0.003779
client 1.1: read v=0 pause=0.2931
client 0.0: take q=0 via=2 pause=0.04815 limit=0.8347
client 1.0: add v=1 k=20 via=2 pause=0.02075 cancel=0.421
client 0.1: put q=1 e=12 via=2 pause=0.09263
client 1.1: add v=1 k=21 via=-1 pause=0.2032 cancel=0.6642
client 0.0: partial a=2 b=1 x=3 pause=0.07828
client 1.0: visit a=1 x=50 pause=0.05014
client 0.1: add v=0 k=15 via=2 pause=0.07098 limit=2.402
client 1.1: put q=1 e=13 via=2 pause=0.04964 cancel=0.3537
client 0.0: guard v=0 k=16 at=1 pause=0.001262
client 0.0: meet at=10 pause=0.002056 limit=0.06834
client 1.0: meet at=11 pause=0.002056 limit=0.06834
client 0.1: put q=0 e=14 via=2 pause=0.2828
client 1.1: extend a=0 b=2 x=3 n=3 pause=0.004375
client 0.0: compute a=2 b=1 x=1 pause=0.06526
client 1.0: put q=0 e=15 via=2 pause=0.2072 limit=0.07158
client 0.1: add v=1 k=22 via=2 pause=0.0008514 limit=2.957
client 1.1: pair v=2 k=9 w=0 l=17 pause=0.08693
client 0.0: add v=0 k=18 via=-1 pause=0.05771
client 1.0: add v=0 k=19 via=2 pause=0.6246
client 0.1: add v=0 k=20 via=2 pause=0.05335
client 1.1: compute a=0 b=2 x=3 pause=0.03712
client 0.0: compute a=2 b=1 x=1 pause=0.01482
client 1.0: add v=2 k=10 via=2 pause=0.02876
client 0.1: read v=1 pause=0.0318
client 1.1: take q=1 via=-1 pause=0.01438 limit=0.03436
client 0.0: put q=0 e=16 via=2 pause=0.007118
client 1.0: add v=2 k=11 via=-1 pause=0.2205 cancel=0.8064
client 0.1: read v=0 pause=0.07276 cancel=0.07339
client 1.1: add v=2 k=12 via=-1 pause=0.06841 limit=0.002865
client 0.0: take q=0 via=-1 pause=0.07399 limit=0.00139
client 1.0: take q=1 via=2 pause=0.2561 limit=2.051
client 0.1: pair v=1 k=23 w=2 l=13 pause=0.03886
client 1.1: put q=1 e=17 via=-1 pause=0.007526 limit=0.1515
client 0.0: guard v=0 k=21 at=1 pause=0.006275
client 1.0: add v=0 k=22 via=-1 pause=0.06118
client 0.1: read v=1 pause=0.04333 cancel=0.1142
client 1.1: put q=0 e=18 via=2 pause=0.1843
client 0.0: reduce x=50 pause=0.2963
client 1.0: read v=2 pause=0.08936
client 0.1: take q=1 via=-1 pause=0.01718 limit=0.7948
client 1.1: extend a=2 b=1 x=3 n=4 pause=0.2153 cancel=0.2096
client 0.0: add v=2 k=14 via=-1 pause=0.05926
client 1.0: pair v=0 k=23 w=1 l=24 pause=0.2012
client 0.1: take q=1 via=2 pause=0.01812 limit=0.04652
client 1.1: restore pause=0.01071
client 0.0: guard v=2 k=15 at=1 pause=0.01339
client 1.0: restore pause=0.02844
client 0.1: add v=1 k=25 via=2 pause=0.1785
client 1.1: restore pause=0.06937
client 0.0: extend a=2 b=1 x=3 n=5 pause=0.1609 limit=1.155
client 1.0: pair v=1 k=26 w=2 l=16 pause=0.02064
client 0.1: compute a=2 b=1 x=100 pause=0.02638
client 1.1: put q=0 e=19 via=2 pause=0.1985
client 0.0: add v=0 k=24 via=-1 pause=0.07936
client 1.0: take q=0 via=-1 pause=0.04854 limit=0.006059
client 0.1: add v=2 k=17 via=-1 pause=0.1393
client 1.1: add v=2 k=18 via=2 pause=0.0172
client 0.0: read v=0 pause=0.2041
client 1.0: take q=0 via=-1 pause=0.2371 limit=1.572
client 0.1: pair v=0 k=25 w=1 l=27 pause=0.2111
client 1.1: pair v=2 k=19 w=0 l=26 pause=0.01175
client 0.0: save n=0 at=2 pause=0.05948
client 1.0: take q=1 via=-1 pause=0.01268 limit=0.006625
client 0.1: guard v=0 k=27 at=1 pause=0.1705
client 0.1: meet at=12 pause=0.002035 limit=0.02556
client 1.1: meet at=13 pause=0.002035 limit=0.02556
client 0.0: guard v=1 k=28 at=1 pause=0.2637
client 1.0: guard v=1 k=29 at=1 pause=0.05863
client 0.1: compute a=2 b=1 x=100 pause=0.09517
client 1.1: take q=0 via=2 pause=0.001224 limit=0.01117
client 0.0: guard v=1 k=30 at=1 pause=0.08731 limit=0.004899
client 1.0: add v=0 k=28 via=2 pause=0.127
client 0.1: take q=0 via=2 pause=0.2599 limit=1.664
client 1.1: take q=0 via=-1 pause=0.1563 limit=0.00322
client 0.0: take q=0 via=2 pause=0.05128 limit=4.195
client 1.0: take q=0 via=2 pause=0.08176 limit=0.08755
client 0.1: put q=0 e=20 via=-1 pause=0.07991
client 1.1: extend a=0 b=2 x=1 n=6 pause=0.001492
client 0.0: extend a=0 b=2 x=3 n=7 pause=0.03778
client 1.0: guard v=2 k=20 at=1 pause=0.05501
client 0.1: add v=0 k=29 via=-1 pause=0.2439 limit=0.001808
client 1.1: add v=1 k=31 via=2 pause=0.06153
client 0.0: meet at=14 pause=0.007665 limit=0.002411
client 1.0: meet at=15 pause=0.007665 limit=0.002411
client 1.0: compute a=2 b=1 x=100 pause=0.07997
client 0.1: read v=1 pause=0.1037 cancel=0.009409
client 1.1: extend a=0 b=2 x=100 n=8 pause=0.1319
client 0.0: read v=1 pause=0.02738
client 1.0: compute a=0 b=2 x=1 pause=0.2735
client 0.1: put q=1 e=21 via=-1 pause=0.1115
client 1.1: compute a=2 b=1 x=3 pause=0.1532
client 0.0: put q=1 e=22 via=-1 pause=0.02819
client 1.0: add v=2 k=21 via=-1 pause=0.3517
client 0.1: compute a=0 b=2 x=1 pause=0.008025
client 1.1: add v=2 k=22 via=-1 pause=0.1435
fault 0.544742 mute worker-1 client-0 for 0.0433749
fault 1.25231 drift client-0 by 1.08979 for 10.3556
fault 2.03126 fail ps-0 for 0.783357 after 244
fault 2.38696 stall client-1 for 2.14236
fault 2.765 slow worker-1 client-1 by 0.078329 for 1.83056
fault 3.35113 fill worker-0 by 47465.2 for 0.214537 after 311
fault 4.42387 slow client-0 worker-1 by 0.0126356 for 19.6137
fault 4.52469 tear ps-0 by 14.369 for 1.38088 after 113
