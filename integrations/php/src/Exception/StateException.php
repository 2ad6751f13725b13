<?php

declare(strict_types=1);

namespace Countersign\Exception;

use Closure;
use InvalidArgumentException;
use Throwable;

/** What was stored is not what `toArray` returned, such as a file that was cut. It runs nothing and decides nothing. */
final class StateException extends InvalidArgumentException
{
    private const REMEDY = [
        'step' => 'Store what `Step::toArray` returns, whole; or request the calls of the step again: what has run does not run again.',
        'request' => 'Store what `ApprovalRequest::toArray` returns, whole; or read the approval again.',
        'response' => 'Store what `ApprovalResponse::toArray` returns, whole; or let the person answer again.',
    ];

    /** @internal @param string $what `step`, `request` or `response` */
    public static function of(string $what, string $why, ?Throwable $cause = null): self
    {
        return new self("The state is no $what: $why. " . self::REMEDY[$what], 0, $cause);
    }

    /**
     * @internal Reads a stored state. Types that do not fit are PHP's errors, and those of a date or an enum are exceptions.
     * @template Value of object
     * @param Closure(): Value $read
     * @return Value
     */
    public static function unless(string $what, Closure $read): object
    {
        set_error_handler(fn (int $level, string $message) => throw new InvalidArgumentException($message));
        try {
            return $read();
        } catch (Throwable $error) {
            throw self::of($what, rtrim($error->getMessage(), '.'), $error);
        } finally {
            restore_error_handler();
        }
    }
}
