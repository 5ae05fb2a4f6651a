/** The story of an order: who did what and when, and what that set off. */
import { useEffect, useState } from 'react';
import type { HistoryEntry } from '../../../src/server/wire.ts';
import { get } from '../api.ts';
import { Card, LoadError, Skeleton } from '../components/basics.tsx';
import { Icon, type IconName } from '../components/icon.tsx';
import { Pages } from '../components/pages.tsx';
import { formatDuration, formatMoment, formatMoney, formatSpan } from '../lib/format.ts';
import { useLoad } from '../lib/use-load.ts';
import { useSession } from '../session.tsx';

interface HistoryPage {
  readonly items: readonly HistoryEntry[];
  readonly nextCursor: string | null;
}

export function OrderHistory({ order, version }: { order: string; version: string | null }) {
  const path = `/api/orders/${order}/history?limit=50`;
  const history = useLoad<HistoryPage>(`history ${order}`, (signal) => get(path, { signal }));
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
          more={(cursor) => get<HistoryPage>(`${path}&cursor=${encodeURIComponent(cursor)}`)}
        >
          {(entries) => (
            <ol className="timeline">
              {entries.map((entry) => (
                <Entry key={entry.id} entry={entry} />
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

function Entry({ entry }: { entry: HistoryEntry }) {
  const { me, nameOf } = useSession();
  const who = entry.actor.principal === me.principal ? 'You' : (entry.actor.name ?? 'A former teammate');
  const { icon, text } = tell(entry, nameOf);
  return (
    <li>
      <span className={`timeline-icon event-${entry.type.replace('.', '-')}`}>
        <Icon name={icon} />
      </span>
      <div>
        <p>
          <strong>{who}</strong> {text}
        </p>
        <time dateTime={entry.at}>{formatMoment(entry.at)}</time>
        {entry.effects.length > 0 && (
          <ul className="effects" aria-label="What it set off">
            {entry.effects.map((effect) => (
              <li key={effect.id}>
                <Icon name="arrow" /> {tellEffect(effect)}
              </li>
            ))}
          </ul>
        )}
      </div>
    </li>
  );
}

/** The facts of an event, as far as it has them. */
function facts(payload: unknown): Readonly<Record<string, unknown>> {
  return typeof payload === 'object' && payload !== null ? (payload as Record<string, unknown>) : {};
}

const FIELD_NAMES: Readonly<Record<string, string>> = {
  title: 'the title',
  description: 'the description',
  priority: 'the priority',
  site: 'the site',
};

const REASONS: Readonly<Record<string, string>> = {
  customer: 'the customer called it off',
  not_needed: 'it is not needed any more',
  duplicate: 'it was entered twice',
};

/** An event in words, after the name of who did it. */
function tell(entry: HistoryEntry, nameOf: (principal: string) => string): { icon: IconName; text: string } {
  const { from, to, assignee, fields, minutes, reason } = facts(entry.payload);
  const whom = typeof assignee === 'string' ? lowerYou(nameOf(assignee)) : 'somebody';
  switch (entry.type) {
    case 'order.created':
      return { icon: 'plus', text: 'opened the order.' };
    case 'order.updated': {
      const names = Array.isArray(fields)
        ? fields.map((field) => FIELD_NAMES[String(field)] ?? String(field))
        : [];
      return {
        icon: 'pencil',
        text: `changed ${names.join(', ').replace(/, ([^,]*)$/, ' and $1') || 'something'}.`,
      };
    }
    case 'order.scheduled':
      return { icon: 'calendar', text: `scheduled it for ${span(from, to)}.` };
    case 'order.rescheduled':
      return { icon: 'calendar', text: `moved it to ${span(from, to)}.` };
    case 'order.assigned':
      return { icon: 'person', text: `assigned it to ${whom}.` };
    case 'order.unassigned':
      return { icon: 'person', text: `took ${whom} off it.` };
    case 'order.started':
      return { icon: 'play', text: 'started the work.' };
    case 'order.completed':
      return {
        icon: 'check',
        text: `completed it${typeof minutes === 'number' ? ` after ${formatDuration(minutes)} of work` : ''}.`,
      };
    case 'order.cancelled': {
      const why = REASONS[String(reason)];
      return { icon: 'cross', text: `cancelled it${why ? `: ${why}` : ''}.` };
    }
    case 'order.invoiced':
      return { icon: 'receipt', text: 'invoiced it.' };
    case 'order.noted':
      return { icon: 'note', text: 'wrote a note.' };
    default:
      return { icon: 'flag', text: `did something (${entry.type}).` };
  }
}

function tellEffect({ type, payload }: HistoryEntry['effects'][number]): string {
  const { totalCents, currency, number } = facts(payload);
  const amount =
    typeof totalCents === 'number' && typeof currency === 'string'
      ? ` over ${formatMoney(totalCents, currency)}`
      : '';
  if (type === 'invoice.drafted') return `An invoice${amount} was drafted.`;
  if (type === 'invoice.issued') return `Invoice no. ${String(number)}${amount} was issued.`;
  return `Something happened (${type}).`;
}

function span(from: unknown, to: unknown): string {
  if (typeof from !== 'string' || typeof to !== 'string') return 'another time';
  return formatSpan(from, to).replace(/^(?:Today|Tomorrow|Yesterday)/, (word) => word.toLowerCase());
}

function lowerYou(name: string): string {
  return name === 'You' ? 'you' : name;
}
