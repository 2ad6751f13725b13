<?php

declare(strict_types=1);

namespace Countersign;

use Countersign\Http\Transport;
use InvalidArgumentException;

/** A person who decides: the one of a token with the role approver, or one whom a front end vouches for (`FrontEnd::as`). */
final class Approver
{
    private ?string $principal = null;

    /** @internal Use `withToken`, or `FrontEnd::as`. */
    public function __construct(private readonly Connection $connection, private readonly ?string $id = null)
    {
    }

    /** The person of a token with the role approver. */
    public static function withToken(string $url, string $token, ?Transport $transport = null): self
    {
        return new self(new Connection($url, $token, $transport));
    }

    /**
     * Returns the questions, oldest first, page after page.
     *
     * @param array<string, mixed> $query by default those that this person may decide now
     * @return iterable<ApprovalRequest>
     */
    public function approvals(array $query = ['mine' => true]): iterable
    {
        do {
            $page = $this->connection->get('/v1/approvals', $query);
            foreach ($page->approvals as $approval) {
                yield ApprovalRequest::fromApproval($approval);
            }
            $query['cursor'] = $page->nextCursor ?? null;
        } while ($query['cursor'] !== null);
    }

    /** Returns a question with all that the API says of it: `responses`, `argumentsSchema`, `mayDecide` and so on. */
    public function approval(string $approvalId): object
    {
        return $this->connection->get(self::path($approvalId));
    }

    /**
     * Returns questions as this person may see them, whole, with the other calls that a "yes" may release.
     *
     * @param list<string> $approvalIds
     * @return list<ApprovalRequest>
     */
    public function requests(array $approvalIds): array
    {
        $calls = [];
        $read = function (string $callId) use (&$calls): object {
            return $calls[$callId] ??= $this->toolCall($callId);
        };
        $request = function (string $approvalId) use ($read): ApprovalRequest {
            $approval = $this->approval($approvalId);
            return ApprovalRequest::fromApproval($approval, array_map($read, Together::idsOf($approval)));
        };
        return array_map($request, $approvalIds);
    }

    /** Returns a call as this person may see it: `arguments`, `state`, its latest `approval` and so on. */
    public function toolCall(string $callId): object
    {
        return $this->connection->get('/v1/tool-calls/' . rawurlencode($callId));
    }

    /**
     * Sends a response. Returns the approval: `pending` while more people must agree.
     *
     * @param ?string $key an `Idempotency-Key` of yours, to send the same response again from another request
     * @throws Exception\CountersignException such as `already-voted`, `already-resolved`, `digest-mismatch`, `own-request` or `expired`
     */
    public function respond(ApprovalResponse $response, ?string $key = null): object
    {
        if ($this->id !== null && $response->approvedBy !== null && $response->approvedBy !== $this->id) {
            throw new InvalidArgumentException("approvedBy: the response is of {$response->approvedBy}, and this is {$this->id}.");
        }
        return $this->connection->post(self::path($response->approvalId, '/responses'), $response->body(), $key);
    }

    /**
     * Whether the last response of this person to an approval counts. False: it was recorded and has ended since, such as by an edit of another
     * person. Ask it after `respond` with a key, which returns the approval for a repeat as well. Null: the person has not responded.
     *
     * @param object $approval as `respond` or `approval` returns it
     */
    public function isCounted(object $approval): ?bool
    {
        $this->principal ??= $this->me()->principal;
        $own = array_filter($approval->responses, fn (object $one) => $one->respondedBy === $this->principal);
        return $own === [] ? null : end($own)->counted;
    }

    /**
     * Takes the vote back while the approval is pending.
     *
     * @param ?string $key an `Idempotency-Key` of yours: a withdrawal that comes again with it takes no later vote back
     */
    public function withdraw(string $approvalId, ?string $key = null): object
    {
        return $this->connection->delete(self::path($approvalId, '/responses/mine'), $key);
    }

    /** Shows the hidden values of the arguments to this person. It is recorded. */
    public function reveal(string $approvalId): object
    {
        return $this->revealAll($approvalId)->arguments;
    }

    /** Shows the hidden values to this person: `arguments`, and `output` where an answer is proposed in place of the run. It is recorded. */
    public function revealAll(string $approvalId): object
    {
        return $this->connection->post(self::path($approvalId, '/reveal'), []);
    }

    /**
     * Returns the question as a card for a bot of your own, with the response that each of its buttons stands for.
     *
     * @param string $format `telegram`, `slack`, `teams` or `text`
     */
    public function card(string $approvalId, string $format = 'text'): object
    {
        return $this->connection->get(self::path($approvalId, '/card'), ['format' => $format]);
    }

    /**
     * Sends a request of a page once, and returns the answer as it is.
     *
     * @internal for `ApprovalsHandler`
     * @throws Http\TransportException | Exception\UnreadableException
     */
    public function forward(string $method, string $path, ?string $body): Http\Answer
    {
        return $this->connection->forward($method, $path, $body);
    }

    /** Returns who this is: `principal`, `roles`, `groups`. */
    public function me(): object
    {
        return $this->connection->get('/v1/me');
    }

    private static function path(string $approvalId, string $rest = ''): string
    {
        return '/v1/approvals/' . rawurlencode($approvalId) . $rest;
    }
}
