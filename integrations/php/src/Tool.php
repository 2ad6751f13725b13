<?php

declare(strict_types=1);

namespace Countersign;

use Closure;
use InvalidArgumentException;

/** A tool of the agent, behind the gate. */
final class Tool
{
    private readonly bool|Closure $needsApproval;
    private readonly Closure|null $execute;
    private readonly Closure|null $approvalPrompt;

    /**
     * @param ?callable(array<string, mixed>, Execution): mixed $execute gets the arguments that were approved. Null: the user's client
     *   executes the tool, and you pass its output to `Client::submitOutput`
     * @param bool|callable(array<string, mixed>, ApprovalContext): bool $needsApproval whether the agent asks for an approval. The policy
     *   of the ledger may ask in any case. A function asks if it throws, if PHP raises a warning, notice or deprecation in it, or if it
     *   returns no bool
     * @param array<string, mixed>|object|null $schema JSON Schema of the arguments
     * @param ?callable(array<string, mixed>): string $approvalPrompt says to people what this call does. One that fails says nothing
     * @param array<string, mixed> $more members of each call, in the words of `POST /v1/tool-calls`: `reason`, `expiresInMs`, `labels` …
     * @throws InvalidArgumentException for a tool of which no call could be made
     */
    public function __construct(
        public readonly string $name,
        ?callable $execute,
        bool|callable $needsApproval = false,
        public readonly array|object|null $schema = null,
        public readonly ?string $description = null,
        public readonly bool $idempotent = false,
        ?callable $approvalPrompt = null,
        public readonly array $more = [],
    ) {
        $this->execute = $execute === null ? null : $execute(...);
        $this->needsApproval = is_bool($needsApproval) ? $needsApproval : $needsApproval(...);
        $this->approvalPrompt = $approvalPrompt === null ? null : $approvalPrompt(...);
        if (array_key_exists('needsApproval', $more)) {
            throw new InvalidArgumentException("The tool $name: needsApproval is a parameter of its own, and no member of \$more.");
        }
        // Attack: what no call can have keeps the condition from being asked, where only a recorded call is judged.
        Call::normal([...$more, 'toolSchema' => $schema, 'arguments' => '{}']);
    }

    /**
     * @internal
     * @param list<self> $tools
     * @return array<string, self>
     * @throws InvalidArgumentException for two of one name: which of them asks people, and which runs, would be chance
     */
    public static function byName(array $tools): array
    {
        $byName = [];
        foreach ($tools as $tool) {
            if (isset($byName[$tool->name])) {
                throw new InvalidArgumentException("There are two tools of the name {$tool->name}.");
            }
            $byName[$tool->name] = $tool;
        }
        return $byName;
    }

    public function isClientExecuted(): bool
    {
        return $this->execute === null;
    }

    /**
     * @internal Returns the call to request.
     * @param mixed $arguments an array, an object or JSON text; anything else that a model may send is refused
     * @return array<string, mixed>
     * @throws InvalidArgumentException for arguments that no function can get
     */
    public function call(mixed $arguments, ApprovalContext $context): array
    {
        $call = Call::normal([
            ...$this->more,
            'toolCallId' => $context->toolCallId,
            'toolName' => $this->name,
            'arguments' => $arguments ?? 'null',
            'toolSchema' => $this->schema,
            'toolDescription' => $this->description,
            'idempotent' => $this->idempotent ?: null,
            'clientExecuted' => $this->isClientExecuted() ?: null,
        ]);
        $input = $this->input($call['arguments']);
        [$isNeeded, $why] = $this->judged($input, $context);
        if ($isNeeded) {
            $call['needsApproval'] = true;
        }
        $reason = $why ?? $call['reason'] ?? null;
        return Call::normal([...$call, 'reason' => $reason, 'description' => $this->prompt($input) ?? $call['description'] ?? null]);
    }

    /** @internal Runs the tool. */
    public function run(object $arguments, Execution $execution): mixed
    {
        if ($this->execute === null) {
            throw new InvalidArgumentException("The tool {$this->name} is executed by the user's client.");
        }
        return ($this->execute)($this->input($arguments), $execution);
    }

    /**
     * Returns the arguments as an array with names.
     *
     * Attack: PHP makes an integer of the name "0", and `$tool->use(...$input)` hands it over by its place. A condition about
     * `$input['path']` never sees it.
     *
     * @return array<string, mixed>
     */
    private function input(object $arguments): array
    {
        $input = Json::toArray($arguments);
        foreach (array_filter(array_keys($input), is_int(...)) as $name) {
            if (!Call::isNamed((string) $name, $this->schema)) {
                $why = 'PHP would hand it to a function by its place. Put it into the `properties` of the schema, if the tool knows it.';
                throw new InvalidArgumentException("arguments: the name \"$name\" is a number. $why");
            }
        }
        return $input;
    }

    /**
     * @param array<string, mixed> $input
     * @return array{bool, ?string}
     */
    private function judged(array $input, ApprovalContext $context): array
    {
        if (is_bool($this->needsApproval)) {
            return [$this->needsApproval, null];
        }
        [$answer, $fault] = Faults::in(fn () => ($this->needsApproval)($input, $context));
        return match (true) {
            $fault !== null => [true, "The check of {$this->name} failed ($fault), so a person must agree."],
            is_bool($answer) => [$answer, null],
            default => [true, "The check of {$this->name} returned no bool, so a person must agree."],
        };
    }

    /**
     * Returns what the tool says to people. It is for their comfort: without it they still see the tool and its arguments.
     *
     * @param array<string, mixed> $input
     */
    private function prompt(array $input): ?string
    {
        [$text, $fault] = $this->approvalPrompt === null ? [null, null] : Faults::in(fn () => ($this->approvalPrompt)($input));
        return $fault === null && is_string($text) ? $text : null;
    }
}
