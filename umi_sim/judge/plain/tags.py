"""Tags: by which number each class stands in what is saved, as of the last release.

A saved state, a recording and a seed file of an older release are read by them. So none of these is ever
changed, or given to another class; what is new has a number of its own, and stands here from the next
release on.
"""

from typing import Final

TAGS: Final = """
0 tuple 1 dict 2 Scope 3 Address 4 Row 5 Entity 6 Version 7 Relation 8 Vector 9 AccessRecord 10 Entry 11
Block 12 Core 13 Epoch 14 Head 15 Tombstone 16 Receipt 17 SessionRow 18 RoutingDecision 19 Turn 20 ByIds
21 Condition 22 ByFilter 23 CountRows 24 ByVector 25 ByWords 26 Write 27 Expect 28 AskModel 29 Embed 30
Read 31 Commit 32 Degraded 33 Done 34 Refused 35 Failed 36 Unknown 37 ModelCall 38 HookNote 39 Reply 40
Set 41 Get 42 Exists 43 Delete 44 Incr 45 Append 46 Touch 47 Sweep 48 Clear 49 Len 50 Bytes 51 GetBlock
52 Blocks 53 CoreBytes 54 InCore 55 Render 56 LastRoutingDecisions 57 SetBlock 58 SetImportance 59
RemoveBlock 60 CreateSession 61 SaveSession 62 LoadSession 63 Remember 64 Recall 65 Forget 66 GetEntity
67 Count 68 Rebalance 69 ModelReplied 70 Embedded 71 ReadDone 72 Committed 73 EffectFailed 74 Wake 75
Stored 76 Remembered 77 Hit 78 Forgotten 79 BlockSet 80 BlockRemoved 81 SessionCreated 82 SessionSaved
83 SessionLoaded 84 Rebalanced 85 Config 86 CoreTier 87 WorkingTier 88 SessionInfo 89 AccessTable 90
Tiers 91 Operation 92 State 93 Recalled 94 Resolution 95 Rewrite 96 RewriteCache 97 Resource 98 Category
99 Membership 100 Memorize 101 List 102 Memorized 103 Listed 104 Summarise 105 Summarised 106 Retrieve
107 Search 108 Retrieved 109 LevelHit 110 LevelTried 120 Sheet 121 BlockChange 122 Message 123 Archival
124 Log 125 Moved 126 Outbox 127 MigrationPhase 128 MovedKey 129 MovedBegun 130 CreateBlock 131
UpdateBlock 132 AppendToBlock 133 ReplaceInBlock 134 DeleteBlock 135 ListBlocks 136 FindBlock 137
BlockHistory 138 AddMessages 139 ListMessages 140 AddArchival 141 GetArchival 142 ListArchival 143
SearchArchival 144 DeleteArchival 145 BuildSystemPrompt 146 SearchMessages 147 MessagesFound 148
RowsListed 150 BlockWritten 151 ApiBlock 152 BlocksShown 153 ChangesShown 154 Appended 155 MessagesShown
156 RecordsShown 157 RecordDeleted 158 Prompt 159 StoresCompared 160 Subcategory 161 EvolveCategory 162
Group 163 Evolved 170 PutRow 171 DropRow 172 ReadRow 173 AdvanceMigration 174 RollBack 175 Reconcile 176
Mirror 177 Purge 178 CompareStores 179 AddRow 180 ListRows 181 Reflection 182 Reflected 183 EndSession
200 CreateEntity 210 RecentEntities 500 BadOption 501 BadText 502 BadScope 503 BadConfig 504 BadTime 505
BadMetadata 506 BadKey 507 BadId 508 BadVersion 509 BadType 510 BadTurn 511 BadScore 512 BadDelta 513
BadLimit 514 BadTimeRange 515 BadImportance 516 EmptyText 517 EmptyQuery 518 TooLong 519 TextTooLong 520
QueryTooLong 521 KeyReused 522 KeyTooLong 523 EntryTooLarge 524 WorkingFull 525 TooManyEntries 526
KeyNotFound 527 ReservedKey 528 TypeMismatch 529 Overflow 530 BadTtl 531 BadKind 532 LabelTooLong 533
BlockTooLarge 534 TooManyBlocks 535 CoreFull 536 BlockNotFound 537 SnapshotTooBig 538 SnapshotDamaged
539 SnapshotVersion 540 SnapshotDoesNotFit 541 NoSession 542 SessionNotFound 543 SessionConflict 544
TooManyMembers 545 TooBusy 546 StepFailed 547 ModelFailed 548 EmbedFailed 549 StorageFailed 550
StorageRefused 551 StorageFull 552 Conflict 553 Deposed 554 WorkflowBroken 555 BadWorkflow 556
UnknownRevision 557 StateDamaged 558 Full 559 Damaged 560 UnsupportedModality 580 NotFound 581
LabelTaken 582 BadLabel 583 VersionConflict 584 ReadOnly 585 AboveLimit 586 TextNotFound 587
TextAmbiguous 588 BadCursor 589 BadMessages 590 NotReady 595 UnknownField 596 UnknownOperator 597
BadFilterValue 611 Given 612 ForgetResource 613 ResourceForgotten 614 RecordAdded 615 RecordForgotten
621 DeleteAgent 622 OpenAgent 623 AgentSwitched 631 UpdateEntity 1000 Plan 1001 Drafted 1002 Mention
1003 Link 1004 Verdict 1005 Segment 1006 Memory 1007 Unit 1008 Found 1009 Told 1010 Home 1011 Newcomer
1012 Part 1013 Division
"""
