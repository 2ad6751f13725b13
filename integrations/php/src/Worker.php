<?php

declare(strict_types=1);

namespace Countersign;

use InvalidArgumentException;

/**
 * Runs the calls that agents of the tenant requested for these tools: a process beside the web server. Its client has a token of the
 * role resolver.
 *
 * @example
 * $worker = new Worker(new Client($url, $resolverToken), [$refund]);
 * while (true) {
 *     if ($worker->work() === 0) sleep(1);
 * }
 */
final class Worker
{
    /** @var array<string, Tool> */
    private readonly array $tools;
    private readonly Runner $runner;

    /**
     * @param list<Tool> $tools each with a name of its own
     * @param ?string $agentId whose calls to run. Null: those of any agent of the tenant
     */
    public function __construct(
        private readonly Client $client,
        array $tools,
        private readonly ?string $agentId = null,
        int $leaseMs = 60_000,
    ) {
        $this->tools = Tool::byName($tools);
        $this->runner = new Runner($client, $agentId, $leaseMs);
    }

    /** Runs what may run now, and returns how many calls that were. */
    public function work(): int
    {
        $count = 0;
        foreach ($this->tools as $tool) {
            $query = ['state' => 'approved,allowed', 'toolName' => $tool->name, 'agentId' => $this->agentId];
            do {
                $page = $this->client->toolCalls($query);
                foreach ($page->calls as $call) {
                    $count += $this->isRun($tool, $call) ? 1 : 0;
                }
                $query['cursor'] = $page->nextCursor ?? null;
            } while ($query['cursor'] !== null);
        }
        return $count;
    }

    private function isRun(Tool $tool, object $call): bool
    {
        if (($call->clientExecuted ?? false) || isset($call->unreadable)) {
            return false;
        }
        $isAsked = function (object $arguments) use ($tool, $call): bool {
            try {
                return !Runner::isUnasked($tool->call($arguments, new ApprovalContext($call->runId, $call->toolCallId)), $call);
            } catch (InvalidArgumentException) {
                return true; // `Tool::run` refuses these arguments, and the call ends with the reason.
            }
        };
        // A list masks sensitive values; the claim has them, and the digest binds them.
        $own = ['toolCallId' => $call->toolCallId, 'toolName' => $tool->name];
        return $isAsked($call->arguments) && $this->runner->hasRun($own, $call, $tool, $isAsked);
    }
}
