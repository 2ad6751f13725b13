<?php

declare(strict_types=1);

namespace Countersign\Http;

use RuntimeException;

/** There is no whole answer. The request may have arrived. */
final class TransportException extends RuntimeException
{
}
