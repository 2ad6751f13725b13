<?php

declare(strict_types=1);

namespace Countersign;

/** Why a step has no result for each of its calls yet. */
enum StopReason: string
{
    /** People have not decided. */
    case AwaitingApproval = 'awaiting_approval';
    /** The user's client has not submitted the output of a client-executed call. */
    case AwaitingClient = 'awaiting_client';
    /** A stop covers a call: `Step::stopDetail` says which, who declared it and why. */
    case Stopped = 'stopped';
    /** Another process runs a call. */
    case Executing = 'executing';
}
