/** Sign-ins and access, for members who manage the team: sign-ins, refusals, and changes of sign-in settings. */

import type { IdentityEventEntry, IdentityEventKind } from '@freehold/app/wire';
import { useEffect, useId, useRef, useState } from 'react';
import { Card, LoadError, Skeleton } from '../components/basics.tsx';
import { type Page, Pages } from '../components/pages.tsx';
import { get } from '../lib/api.ts';
import { formatMoment } from '../lib/format.ts';
import { KIND_NAMES, tellIdentityEvent } from '../lib/identity-events.ts';
import { useSession } from '../lib/session.tsx';
import { useLoad } from '../lib/use-load.ts';

type Kind = IdentityEventKind | '';
const TITLE = 'Sign-ins and access';

/** `changes` counts what was changed on this page: each change is an event to show. */
export function AccessLog({ changes }: { changes: number }) {
  const [kind, setKind] = useState<Kind>('');
  const choice = useId();
  const path = `/api/identity-events?limit=20${kind && `&kind=${kind}`}`;
  const events = useLoad<Page<IdentityEventEntry>>(`identity-events ${kind}`, (signal) =>
    get(path, { signal }),
  );
  const { reload } = events;
  const shown = useRef(changes);
  useEffect(() => {
    if (shown.current === changes) return;
    shown.current = changes;
    reload();
  }, [changes, reload]);

  const filter = (
    <div className="filter">
      <label htmlFor={choice}>Show</label>
      <select id={choice} value={kind} onChange={(event) => setKind(event.target.value as Kind)}>
        <option value="">Everything</option>
        {Object.entries(KIND_NAMES).map(([key, name]) => (
          <option key={key} value={key}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
  return (
    <Card title={TITLE} action={filter}>
      {events.error && <LoadError error={events.error} retry={reload} />}
      {!events.data && !events.error && <Skeleton label="Loading what happened" />}
      {events.data && (
        <Pages
          key={kind}
          first={events.data}
          more={(cursor) => get<Page<IdentityEventEntry>>(`${path}&cursor=${encodeURIComponent(cursor)}`)}
        >
          {(items) => <Entries items={items} />}
        </Pages>
      )}
    </Card>
  );
}

function Entries({ items }: { items: readonly IdentityEventEntry[] }) {
  const { me } = useSession();
  if (items.length === 0) return <p className="quiet">Nothing of this kind has happened lately.</p>;
  return (
    <ul className="members" aria-label={TITLE}>
      {items.map((event) => {
        const { who, text } = tellIdentityEvent(event, me.principal);
        return (
          <li key={event.id}>
            <p className="row-main">
              <strong>{who}</strong> {text}
            </p>
            <time dateTime={event.at}>{formatMoment(event.at)}</time>
          </li>
        );
      })}
    </ul>
  );
}
