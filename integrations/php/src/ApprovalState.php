<?php

declare(strict_types=1);

namespace Countersign;

enum ApprovalState: string
{
    case Pending = 'pending';
    case Approved = 'approved';
    case Denied = 'denied';
    case Expired = 'expired';
    case Cancelled = 'cancelled';
}
