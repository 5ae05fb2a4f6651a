/** Open reminders, above everything else, until they are settled or dismissed. */

import { useAnnounce } from '../components/announce.tsx';
import { ErrorNote, LoadError } from '../components/basics.tsx';
import { Icon } from '../components/icon.tsx';
import { Link } from '../components/link.tsx';
import { call, type Reminder } from '../lib/api.ts';
import { formatRelative } from '../lib/format.ts';
import { useAction } from '../lib/use-action.ts';
import { useLoad } from '../lib/use-load.ts';

/** A longer list would not be read. */
const SHOWN = 20;

const MESSAGES: Readonly<Record<Reminder['kind'], string>> = {
  overdue: 'The appointment is over, and the work is not done.',
  to_invoice: 'The work is done, and not invoiced yet.',
};

export function Reminders() {
  const waiting = useLoad(
    'reminders',
    async (signal) => (await call('reminder/list', { limit: SHOWN }, { signal })).value,
  );
  const announce = useAnnounce();
  const action = useAction();
  const dismiss = (reminder: Reminder) =>
    action.run(async (idempotencyKey) => {
      await call('reminder/dismiss', { reminder: reminder.id }, { idempotencyKey });
      announce(`The reminder of order #${reminder.order.number} is dismissed.`);
      waiting.reload();
    });
  if (waiting.error) return <LoadError error={waiting.error} retry={waiting.reload} />;
  if (!waiting.data || waiting.data.items.length === 0) return null;
  return (
    <section className="waiting" aria-labelledby="waiting">
      <h2 id="waiting">
        <Icon name="bell" /> Waiting
      </h2>
      <ErrorNote error={action.error} />
      <ul>
        {waiting.data.items.map((reminder) => (
          <li key={reminder.id}>
            <Link href={`/orders/${reminder.order.id}`} className={`reminder reminder-${reminder.kind}`}>
              <strong>
                #{reminder.order.number} {reminder.order.title}
              </strong>
              <small>
                {MESSAGES[reminder.kind]} {reminder.customer.name},{' '}
                <time dateTime={reminder.raisedAt}>{formatRelative(reminder.raisedAt)}</time>
              </small>
            </Link>
            <button
              type="button"
              className="icon-button"
              aria-label={`Dismiss the reminder of order #${reminder.order.number}`}
              onClick={() => void dismiss(reminder)}
            >
              <Icon name="cross" />
            </button>
          </li>
        ))}
      </ul>
      {waiting.data.nextCursor && <p className="quiet">There are more: these are the oldest.</p>}
    </section>
  );
}
