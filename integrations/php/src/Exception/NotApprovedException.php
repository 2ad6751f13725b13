<?php

declare(strict_types=1);

namespace Countersign\Exception;

/** Thrown in place of running a call that the ledger has not approved (`not-approved`). */
final class NotApprovedException extends CountersignException
{
}
