import { memo, useMemo } from 'react';
import type { ReactNode } from 'react';
import type { JsonObject, JsonValue } from '@countersign/contracts';
import type { Member } from '@countersign/text';
import { membersOf } from '@countersign/text';
import { textBlocksOf } from '../text/text-blocks.js';
import { Marked } from '../ui/marked.js';
import { DiffLines } from './diff-lines.js';

/** The arguments of a call: the values, and below them every text of several lines as lines. Nothing is left out or cut. */
export const Arguments = memo(function Arguments({ value }: { value: JsonObject }): ReactNode {
  const { blocks, standIns } = useMemo(() => textBlocksOf(value), [value]);
  const members = membersOf(value, '');
  return (
    <div className="arguments">
      {members.length === 0 ? (
        <p className="muted">No arguments.</p>
      ) : (
        <Members members={members} standIns={standIns} isList={false} />
      )}
      {blocks.map((block, index) => (
        <figure key={index} className="block">
          <figcaption>
            <code>
              <Marked text={block.title} />
            </code>
            {block.note !== '' && (
              <span className="muted">
                {' '}
                <Marked text={block.note} />
              </span>
            )}
          </figcaption>
          <DiffLines lines={block.lines} kind={block.kind} />
        </figure>
      ))}
    </div>
  );
});

interface MembersProps {
  readonly members: readonly Member[];
  readonly standIns: ReadonlyMap<string, string>;
  readonly isList: boolean;
}

function Members({ members, standIns, isList }: MembersProps): ReactNode {
  return (
    <dl className="members">
      {members.map(({ name, pointer, value }) => (
        <div key={pointer} className="member" data-nested={membersOf(value, pointer).length > 0}>
          <dt>{isList ? <span className="muted">{name}</span> : <Marked text={name} />}</dt>
          <dd>
            <Value value={value} pointer={pointer} standIns={standIns} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Value(props: { value: JsonValue; pointer: string; standIns: ReadonlyMap<string, string> }): ReactNode {
  const { value, pointer, standIns } = props;
  const standIn = standIns.get(pointer);
  if (standIn !== undefined) return <span className="muted">{standIn}</span>;
  const members = membersOf(value, pointer);
  if (members.length > 0) return <Members members={members} standIns={standIns} isList={Array.isArray(value)} />;
  if (typeof value !== 'string') return <span className="value-plain">{JSON.stringify(value)}</span>;
  return /^\[masked(?: sha256:[0-9a-f]{16})?\]$/.test(value) ? (
    <span className="masked" title="A sensitive value: only the agent and the claim see it">
      {value}
    </span>
  ) : (
    <span className="value-text">
      “<Marked text={value} />”
    </span>
  );
}
