/** The story of a record: who did what and when, and what that set off. What the events mean, the record's page says. */

import type { HistoryEntry } from '@freehold/app/wire';
import { useEffect, useState } from 'react';
import { get } from '../lib/api.ts';
import { formatMoment } from '../lib/format.ts';
import { useSession } from '../lib/session.tsx';
import { useLoad } from '../lib/use-load.ts';
import { Card, LoadError, Skeleton } from './basics.tsx';
import { Icon, type IconName } from './icon.tsx';
import { type Page, Pages } from './pages.tsx';

/** The text of an event: it follows the name of the actor. */
export interface Told {
  readonly icon: IconName;
  readonly text: string;
}
/** An event without who did it. */
export type Effect = HistoryEntry['effects'][number];

interface StoryProps {
  readonly path: string;
  /** The version of the record: with a new one, there is more to tell. */
  readonly version: string | null;
  readonly describe: (entry: HistoryEntry) => Told;
  readonly tellEffect?: (effect: Effect) => string;
}

export function Story({ path, version, describe, tellEffect }: StoryProps) {
  const first = `${path}?limit=50`;
  const history = useLoad<Page<HistoryEntry>>(`history ${path}`, (signal) => get(first, { signal }));
  const { reload } = history;
  const [shown, setShown] = useState(version);
  useEffect(() => {
    if (version === shown) return;
    setShown(version);
    reload();
  }, [version, shown, reload]);

  return (
    <Card title="History">
      {history.error ? (
        <LoadError error={history.error} retry={reload} />
      ) : history.data ? (
        <Pages
          key={version}
          first={history.data}
          more={(cursor) => get<Page<HistoryEntry>>(`${first}&cursor=${encodeURIComponent(cursor)}`)}
        >
          {(entries) => (
            <ol className="timeline">
              {entries.map((entry) => (
                <Entry
                  key={entry.id}
                  entry={entry}
                  told={describe(entry)}
                  {...(tellEffect && { tellEffect })}
                />
              ))}
            </ol>
          )}
        </Pages>
      ) : (
        <Skeleton label="Loading the history" />
      )}
    </Card>
  );
}

function Entry({
  entry,
  told: { icon, text },
  tellEffect,
}: {
  entry: HistoryEntry;
  told: Told;
  tellEffect?: (effect: Effect) => string;
}) {
  const { me } = useSession();
  const who = entry.actor.principal === me.principal ? 'You' : (entry.actor.name ?? 'A former teammate');
  return (
    <li>
      <span className={`timeline-icon event-${entry.type.replace('.', '-')}`}>
        <Icon name={icon} />
      </span>
      <div>
        <p>
          <strong>{who}</strong>
          {entry.program && <>, through {entry.program.name},</>} {text}
        </p>
        <time dateTime={entry.at}>{formatMoment(entry.at)}</time>
        {tellEffect && entry.effects.length > 0 && (
          <ul className="effects" aria-label="What it set off">
            {entry.effects.map((effect) => (
              <li key={effect.id}>
                <Icon name="arrow" /> {tellEffect(effect)}
              </li>
            ))}
          </ul>
        )}
        {entry.withheld && <p className="quiet">It set off more, on records that you may not see.</p>}
      </div>
    </li>
  );
}

/** The facts of an event, as far as it has them. */
export function facts(payload: unknown): Readonly<Record<string, unknown>> {
  return typeof payload === 'object' && payload !== null ? (payload as Record<string, unknown>) : {};
}

/** "the name, the phone number and the remarks" */
export function inWords(parts: readonly string[]): string {
  return parts.join(', ').replace(/, ([^,]*)$/, ' and $1');
}
