/** One order: what it says, what can be done next, what people wrote, and its story. */
import { type FormEvent, type ReactNode, useEffect, useState } from 'react';
import type { OrderVerb } from '../../../src/orders/states.ts';
import { useAnnounce } from '../components/announce.tsx';
import {
  Avatar,
  Badge,
  Button,
  Card,
  ErrorNote,
  LoadError,
  PageError,
  Skeleton,
  StateBadge,
} from '../components/basics.tsx';
import { Icon, type IconName } from '../components/icon.tsx';
import { Link } from '../components/link.tsx';
import {
  AssignOrder,
  CancelOrder,
  CompleteOrder,
  EditOrder,
  ScheduleOrder,
} from '../dialogs/order-steps.tsx';
import { type Answer, call, type Note, type Order } from '../lib/api.ts';
import { formatDuration, formatMoment, formatMoney, formatSpan } from '../lib/format.ts';
import { useSession } from '../lib/session.tsx';
import { useAction } from '../lib/use-action.ts';
import { useLoad } from '../lib/use-load.ts';
import { OrderFiles } from './order-files.tsx';
import { OrderHistory } from './order-history.tsx';
import { OrderSummary } from './order-summary.tsx';

type OpenDialog = 'schedule' | 'assign' | 'complete' | 'cancel' | 'update';

export function OrderPage({ id }: { id: string }) {
  const loaded = useLoad<Answer<Order>>(`order ${id}`, (signal) =>
    call('order/get', { order: id }, { signal }),
  );
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const action = useAction();
  const announce = useAnnounce();
  const { can } = useSession();
  const order = loaded.data?.value;
  const number = order?.number;
  const title = order?.title;
  useEffect(() => {
    if (title) document.title = `#${number} ${title} · Fieldwork`;
  }, [number, title]);

  if (!order) {
    return (
      <div className="page">
        <Back />
        {loaded.error ? (
          <PageError error={loaded.error} retry={loaded.reload} />
        ) : (
          <Skeleton lines={6} label="Loading the order" />
        )}
      </div>
    );
  }
  const may = (verb: OrderVerb) => order.allowed.includes(verb);
  const version = loaded.data?.version ?? null;
  const done = (answer: Answer<Order>) => {
    setDialog(null);
    loaded.put(answer);
  };
  const start = () =>
    action.run(async (idempotencyKey) => {
      loaded.put(await call('order/start', { order: order.id }, { idempotencyKey }));
      announce(`Work on order #${order.number} has begun.`);
    });
  const invoice = () =>
    action.run(async (idempotencyKey) => {
      loaded.put(await call('order/invoice', { order: order.id }, { idempotencyKey }));
      announce(`Order #${order.number} is invoiced.`);
    });
  const unassign = (assignee: string, name: string) =>
    action.run(async (idempotencyKey) => {
      loaded.put(
        await call('order/unassign', { order: order.id, assignee: assignee as never }, { idempotencyKey }),
      );
      announce(`${name} is off order #${order.number}.`);
    });
  const step = {
    order,
    version,
    onClose: () => setDialog(null),
    onDone: done,
    onTakeNewest: loaded.reload,
  };

  return (
    <div className="page">
      <Back />
      <header className="order-head">
        <p className="order-line">
          <span className="number">#{order.number}</span>
          <StateBadge state={order.state} />
          {order.priority === 'urgent' && <Badge tone="bad">Urgent</Badge>}
        </p>
        <h1>{order.title}</h1>
        <div className="order-actions">
          {may('start') && (
            <Button look="primary" icon="play" busy={action.busy} onClick={() => void start()}>
              Start
            </Button>
          )}
          {may('complete') && (
            <Button look="primary" icon="check" onClick={() => setDialog('complete')}>
              Complete
            </Button>
          )}
          {may('invoice') && (
            <Button look="primary" icon="receipt" busy={action.busy} onClick={() => void invoice()}>
              Invoice
            </Button>
          )}
          {may('schedule') && (
            <Button
              look={order.state === 'draft' ? 'primary' : 'plain'}
              icon="calendar"
              onClick={() => setDialog('schedule')}
            >
              {order.state === 'draft' ? 'Schedule' : 'Move'}
            </Button>
          )}
          {may('assign') && (
            <Button icon="person" onClick={() => setDialog('assign')}>
              Assign
            </Button>
          )}
          {may('update') && (
            <Button icon="pencil" onClick={() => setDialog('update')}>
              Edit
            </Button>
          )}
          {may('cancel') && (
            <Button look="quiet" icon="cross" onClick={() => setDialog('cancel')}>
              Cancel order
            </Button>
          )}
        </div>
        <ErrorNote error={action.error} />
      </header>

      <div className="order-columns">
        <div className="order-main">
          <Card title="Description">
            {order.description ? (
              <p className="prose">{order.description}</p>
            ) : (
              <p className="quiet">Nothing is written here yet.</p>
            )}
          </Card>
          <Notes order={order} version={version} mayWrite={may('note')} onWritten={loaded.reload} />
          <OrderFiles
            order={order}
            version={version}
            mayAdd={may('note')}
            mayRemove={can('order.detach') && order.state !== 'invoiced' && order.state !== 'cancelled'}
            onChanged={loaded.reload}
          />
          {can('order.summarise') && !order.customer.erased && (
            <OrderSummary key={order.id} order={order.id} />
          )}
          <OrderHistory order={order.id} version={version} />
        </div>
        <aside className="order-side" aria-label="Facts">
          <Facts
            order={order}
            mayUnassign={may('unassign')}
            onUnassign={(who, name) => void unassign(who, name)}
          />
        </aside>
      </div>

      {dialog === 'schedule' && <ScheduleOrder {...step} />}
      {dialog === 'assign' && <AssignOrder {...step} />}
      {dialog === 'complete' && <CompleteOrder {...step} />}
      {dialog === 'cancel' && <CancelOrder {...step} />}
      {dialog === 'update' && <EditOrder {...step} />}
    </div>
  );
}

function Back() {
  return (
    <Link href="/" className="back">
      <Icon name="arrow" /> All orders
    </Link>
  );
}

function Facts({
  order,
  mayUnassign,
  onUnassign,
}: {
  order: Order;
  mayUnassign: boolean;
  onUnassign: (principal: string, name: string) => void;
}) {
  const { can, nameOf } = useSession();
  const { customer, site, work, invoice } = order;
  return (
    <Card className="facts">
      <dl>
        <Fact icon="calendar" name="Appointment">
          {order.scheduledFrom && order.scheduledTo ? (
            formatSpan(order.scheduledFrom, order.scheduledTo)
          ) : (
            <span className="quiet">None yet</span>
          )}
        </Fact>
        <Fact icon="person" name="Assigned to">
          {order.assignees.length === 0 && <span className="quiet">Nobody yet</span>}
          <ul className="people">
            {order.assignees.map((principal) => (
              <li key={principal}>
                <Avatar principal={principal} name={nameOf(principal)} />
                <span>{nameOf(principal)}</span>
                {mayUnassign && (
                  <button
                    type="button"
                    className="icon-button"
                    aria-label={`Take ${nameOf(principal)} off this order`}
                    onClick={() => onUnassign(principal, nameOf(principal))}
                  >
                    <Icon name="cross" />
                  </button>
                )}
              </li>
            ))}
          </ul>
        </Fact>
        <Fact icon="people" name="Customer">
          {can('customer.read') ? (
            <Link href={`/customers/${customer.id}`}>{customer.name}</Link>
          ) : (
            customer.name
          )}
          {customer.phone && (
            <a className="contact" href={`tel:${customer.phone.replaceAll(/[^\d+]/g, '')}`}>
              <Icon name="phone" /> {customer.phone}
            </a>
          )}
          {customer.email && (
            <a className="contact" href={`mailto:${customer.email}`}>
              <Icon name="mail" /> {customer.email}
            </a>
          )}
        </Fact>
        <Fact icon="pin" name="Site">
          {site ? (
            <>
              <strong>{site.label}</strong>
              <address>
                {site.street}
                <br />
                {site.postcode} {site.city}
              </address>
              {site.access && <p className="access">{site.access}</p>}
            </>
          ) : (
            <span className="quiet">Not known yet</span>
          )}
        </Fact>
        {work && (
          <Fact icon="check" name="Work done">
            {formatDuration(work.minutes)}
            {work.materialsCents > 0 && invoice && (
              <>, materials {formatMoney(work.materialsCents, invoice.currency)}</>
            )}
          </Fact>
        )}
        {invoice && (
          <Fact icon="receipt" name="Invoice">
            {invoice.number === null ? 'Draft' : `No. ${invoice.number}`},{' '}
            {formatMoney(invoice.totalCents, invoice.currency)}
          </Fact>
        )}
      </dl>
    </Card>
  );
}

function Fact({ icon, name, children }: { icon: IconName; name: string; children: ReactNode }) {
  return (
    <div className="fact">
      <dt>
        <Icon name={icon} /> {name}
      </dt>
      <dd>{children}</dd>
    </div>
  );
}

function Notes({
  order,
  version,
  mayWrite,
  onWritten,
}: {
  order: Order;
  version: string | null;
  mayWrite: boolean;
  onWritten: () => void;
}) {
  const { nameOf } = useSession();
  const [text, setText] = useState('');
  const action = useAction();
  const [version0, setVersion0] = useState(version);
  const notes = useLoad(
    `notes ${order.id}`,
    async (signal) =>
      (await call('order/note-list', { order: order.id, limit: 200 }, { signal })).value.items,
  );
  // A step of the order may have brought a note along.
  if (version !== version0) {
    setVersion0(version);
    notes.reload();
  }
  const write = (event: FormEvent) => {
    event.preventDefault();
    void action.run(async (idempotencyKey) => {
      await call('order/note-add', { order: order.id, text }, { idempotencyKey });
      setText('');
      onWritten();
    });
  };
  return (
    <Card title="Notes">
      {notes.error && <LoadError error={notes.error} retry={notes.reload} />}
      {mayWrite && (
        <form className="note-form" onSubmit={write}>
          <label className="visually-hidden" htmlFor="note">
            Write a note
          </label>
          <textarea
            id="note"
            rows={2}
            maxLength={5_000}
            required
            placeholder="Write a note for the team"
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <Button type="submit" busy={action.busy}>
            Add note
          </Button>
          <ErrorNote error={action.error} />
        </form>
      )}
      <ul className="notes" aria-label="Notes">
        {notes.data?.map((note: Note) => (
          <li key={note.id}>
            <Avatar principal={note.author} name={nameOf(note.author)} />
            <div>
              <p className="note-head">
                <strong>{nameOf(note.author)}</strong> <time dateTime={note.at}>{formatMoment(note.at)}</time>
              </p>
              <p className="prose">{note.text}</p>
            </div>
          </li>
        ))}
      </ul>
    </Card>
  );
}
