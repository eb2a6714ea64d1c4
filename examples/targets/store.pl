#!/usr/bin/perl
# A session store in Perl, over standard input and output; it keeps everything in memory.
#
#     umi-sim target --contract sessions --command "perl store.pl"
use strict;
use warnings;
use JSON::PP;

$| = 1;
my $json = JSON::PP->new->utf8->canonical->allow_nonref;
my %sessions;
my %ops = (
    hello => sub { {
        ops   => { add => [qw(session items)], get => [qw(session limit)], pop => ["session"], clear => ["session"] },
        flags => { values => "text" },
    } },
    add => sub { push @{ $sessions{ $_[0]{session} } }, @{ $_[0]{items} }; undef },
    get => sub {
        my @items = @{ $sessions{ $_[0]{session} } // [] };
        my $limit = $_[0]{limit};
        @items = $limit > 0 ? @items[ -$limit .. -1 ] : () if defined $limit && $limit < @items;
        return \@items;
    },
    pop   => sub { pop @{ $sessions{ $_[0]{session} } //= [] } },
    clear => sub { delete $sessions{ $_[0]{session} }; undef },
);

while (my $line = <STDIN>) {
    my $request = $json->decode($line);
    print $json->encode({ id => $request->{id}, answer => $ops{ $request->{op} }->($request) }), "\n";
}
