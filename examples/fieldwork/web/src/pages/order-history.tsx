/** The story of an order, in words. */
import { type Effect, facts, inWords, Story, type Told } from '../components/story.tsx';
import { formatDuration, formatMoney, formatSpan } from '../lib/format.ts';
import { useSession } from '../lib/session.tsx';

export function OrderHistory({ order, version }: { order: string; version: string | null }) {
  const { nameOf } = useSession();
  return (
    <Story
      path={`/api/orders/${order}/history`}
      version={version}
      describe={(entry) => describe(entry, nameOf)}
      tellEffect={tellEffect}
    />
  );
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

/** An event in words, after the name of the actor. */
function describe(entry: Effect, nameOf: (principal: string) => string): Told {
  const { from, to, assignee, fields, minutes, reason } = facts(entry.payload);
  const whom = typeof assignee === 'string' ? lowerYou(nameOf(assignee)) : 'a person';
  switch (entry.type) {
    case 'order.created':
      return { icon: 'plus', text: 'opened the order.' };
    case 'order.updated': {
      const names = Array.isArray(fields)
        ? fields.map((field) => FIELD_NAMES[String(field)] ?? String(field))
        : [];
      return { icon: 'pencil', text: `changed ${inWords(names) || 'something'}.` };
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
    case 'attachment.added':
      return { icon: 'clip', text: 'attached a file.' };
    case 'attachment.removed':
      return { icon: 'cross', text: 'removed a file.' };
    default:
      return { icon: 'flag', text: `did something (${entry.type}).` };
  }
}

function tellEffect({ type, payload }: Effect): string {
  const { totalCents, currency, number, kind } = facts(payload);
  const amount =
    typeof totalCents === 'number' && typeof currency === 'string'
      ? ` over ${formatMoney(totalCents, currency)}`
      : '';
  if (type === 'invoice.drafted') return `An invoice${amount} was drafted.`;
  if (type === 'invoice.issued') return `Invoice no. ${String(number)}${amount} was issued.`;
  if (type === 'reminder.raised' && kind === 'to_invoice') return 'A reminder to invoice it was raised.';
  if (type === 'reminder.settled') return 'Its reminder was settled.';
  return `Something happened (${type}).`;
}

function span(from: unknown, to: unknown): string {
  if (typeof from !== 'string' || typeof to !== 'string') return 'another time';
  return formatSpan(from, to).replace(/^(?:Today|Tomorrow|Yesterday)/, (word) => word.toLowerCase());
}

function lowerYou(name: string): string {
  return name === 'You' ? 'you' : name;
}
