<?php

declare(strict_types=1);

namespace Countersign;

use Countersign\Http\Transport;
use InvalidArgumentException;

/**
 * An application that speaks for its own people, with a token of the role front-end (docs/front-ends.md). Keep the token on your
 * server, and take the person from your own session, never from the request of a browser.
 */
final class FrontEnd
{
    private readonly Connection $connection;

    public function __construct(string $url, string $token, ?Transport $transport = null)
    {
        $this->connection = new Connection($url, $token, $transport);
    }

    /**
     * Returns one of its people.
     *
     * @param string $id 1 to 256 characters. It never changes, and never becomes the id of another person
     * @param list<string> $groups of those that the token lists
     * @param ?string $name what the person is called. It is never compared
     * @param ?string $assurance how sure you are of the person: `low` or `medium`
     */
    public function as(string $id, array $groups = [], ?string $name = null, ?string $assurance = null): Approver
    {
        $headers = [
            'countersign-person' => self::encoded('id', $id),
            'countersign-person-groups' => implode(', ', array_map(fn (string $group) => self::encoded('groups', $group), $groups)),
            'countersign-person-name' => $name === null || $name === '' ? null : self::encoded('name', $name),
            'countersign-person-assurance' => $assurance === null ? null : self::encoded('assurance', $assurance),
        ];
        $present = array_filter($headers, fn (?string $value) => $value !== null);
        return new Approver($this->connection->with(headers: $present), $id);
    }

    /**
     * Ends a person who has left: their votes on pending approvals no longer count.
     *
     * @return list<string> the ids of these approvals
     */
    public function end(string $id): array
    {
        $principal = $this->connection->get('/v1/me')->principal;
        return $this->connection->delete('/v1/people/' . rawurlencode("$principal#$id"))->approvalIds;
    }

    private static function encoded(string $name, string $text): string
    {
        // Without a person, the request would be that of the front end itself.
        if ($text === '' || preg_match('//u', $text) !== 1) {
            throw new InvalidArgumentException("$name: it is empty or no UTF-8.");
        }
        return rawurlencode($text);
    }
}
