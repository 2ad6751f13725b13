<?php

declare(strict_types=1);

namespace Countersign;

use InvalidArgumentException;

/** What a worker checks before it runs anything. */
final class Claim
{
    /** All that the digest covers but the arguments. A newer server may send more. */
    private const COVERED = ['tenant', 'agentId', 'runId', 'toolCallId', 'toolName', 'toolSchemaHash', 'salt'];

    /**
     * Returns why a claim must not run, as `code` and `message`, or null. The digest is computed over the arguments that are about to
     * run and the worker's own view of the call, so that a claim of anything else is refused.
     *
     * @param object $claim the answer of `Client::claim`
     * @param object $recorded the call as the worker read it
     * @param array<string, mixed> $asked the worker's own view: `toolCallId`, `toolName`, `toolSchema`, and `arguments` if it requested them
     * @return ?array{code: string, message: string}
     */
    public static function problem(object $claim, object $recorded, array $asked, string $agentId): ?array
    {
        $knowsArguments = isset($asked['arguments']);
        $asked = Call::normal($asked);
        try {
            $schema = $asked['toolSchema'] ?? null;
            $schemaHash = $schema === null ? null : Json::digest(Json::rounded($schema));
        } catch (InvalidArgumentException $error) {
            return self::mismatch("The schema of the tool has no RFC 8785 form: {$error->getMessage()}");
        }
        if ($schemaHash !== ($claim->digestInput->toolSchemaHash ?? null)) {
            $message = "The tool {$asked['toolName']} changed since it was approved: its input schema is another one";
            return ['code' => 'tool-schema-changed', 'message' => $message];
        }
        $own = [
            'agentId' => $agentId,
            'runId' => $recorded->runId,
            'toolCallId' => $asked['toolCallId'],
            'toolName' => $asked['toolName'],
            'toolSchemaHash' => $schemaHash,
        ];
        try {
            $digest = self::actionDigest([...(array) $claim->digestInput, ...$own], $claim->arguments);
            $askedDigest = Json::digest($asked['arguments']);
        } catch (InvalidArgumentException $error) {
            return self::mismatch("The arguments to run have no RFC 8785 form: {$error->getMessage()}");
        }
        if ($digest !== $claim->actionDigest || $digest !== $recorded->actionDigest) {
            return self::mismatch('The arguments to run are not those of the approved digest');
        }
        if ($knowsArguments && !isset($recorded->originalArguments) && Json::digest($claim->arguments) !== $askedDigest) {
            return self::mismatch('The arguments to run are not those that were asked for');
        }
        return null;
    }

    /**
     * Returns the digest over the identity of a call and its arguments, as the ledger computes it.
     *
     * @param array<string, mixed> $input `digestInput` of the claim
     * @throws InvalidArgumentException for arguments without an RFC 8785 form, and for an input that lacks a member
     */
    public static function actionDigest(array $input, object $arguments): string
    {
        $covered = ['arguments' => $arguments];
        foreach (self::COVERED as $name) {
            if (!array_key_exists($name, $input)) {
                throw new InvalidArgumentException("The digest's input has no $name.");
            }
            $covered[$name] = $input[$name];
        }
        return Json::digest($covered);
    }

    /** @return array{code: string, message: string} */
    private static function mismatch(string $message): array
    {
        return ['code' => 'digest-mismatch', 'message' => $message];
    }
}
