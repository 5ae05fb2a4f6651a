/** The forms of an order's steps: what each needs to know before it is taken. */
import { useEffect, useState } from 'react';
import { useAnnounce } from '../components/announce.tsx';
import { Dialog } from '../components/dialog.tsx';
import { CheckField, SelectField, TextArea, TextField } from '../components/fields.tsx';
import { type Answer, call, type Order } from '../lib/api.ts';
import { formatSpan, fromFields, parseMoney, toDateField, toTimeField } from '../lib/format.ts';
import { useSession } from '../lib/session.tsx';
import { useAction } from '../lib/use-action.ts';
import { useLoad } from '../lib/use-load.ts';

interface StepProps {
  readonly order: Order;
  /** The version that is on the screen. */
  readonly version: string | null;
  readonly onClose: () => void;
  readonly onDone: (answer: Answer<Order>) => void;
  /** Reloads the order, behind the open form. */
  readonly onTakeNewest: () => void;
}

const HOUR_MS = 3_600_000;

export function ScheduleOrder({ order, version, onClose, onDone, onTakeNewest }: StepProps) {
  const announce = useAnnounce();
  const action = useAction();
  const [begin, end] = appointmentOf(order);
  const [date, setDate] = useState(toDateField(begin));
  const [from, setFrom] = useState(toTimeField(begin));
  const [to, setTo] = useState(toTimeField(end));
  const submit = () =>
    action.run(async (idempotencyKey) => {
      const span = { from: fromFields(date, from).toISOString(), to: fromFields(date, to).toISOString() };
      const answer = await call(
        'order/schedule',
        { order: order.id, ...span },
        { idempotencyKey, ifMatch: version },
      );
      onDone(answer);
      announce(`Order #${order.number} is scheduled: ${formatSpan(span.from, span.to)}.`);
    });
  return (
    <Dialog
      title={order.state === 'scheduled' ? 'Move the appointment' : 'Schedule'}
      submit={order.state === 'scheduled' ? 'Move' : 'Schedule'}
      action={action}
      onClose={onClose}
      onSubmit={() => void submit()}
      onTakeNewest={onTakeNewest}
    >
      <TextField
        label="Date"
        type="date"
        required
        value={date}
        onChange={(event) => setDate(event.target.value)}
      />
      <div className="field-row">
        <TextField
          label="From"
          type="time"
          required
          value={from}
          onChange={(event) => setFrom(event.target.value)}
        />
        <TextField
          label="To"
          name="to"
          type="time"
          required
          error={action.error}
          value={to}
          onChange={(event) => setTo(event.target.value)}
        />
      </div>
    </Dialog>
  );
}

export function AssignOrder({ order, onClose, onDone }: StepProps) {
  const { team, me } = useSession();
  const announce = useAnnounce();
  const action = useAction();
  // A member who has just joined can be chosen at once.
  const { reload } = team;
  useEffect(reload, [reload]);
  const free = (team.data ?? []).filter((each) => !order.assignees.includes(each.principal));
  const [chosen, setChosen] = useState('');
  const submit = () =>
    action.run(async (idempotencyKey) => {
      const answer = await call(
        'order/assign',
        { order: order.id, assignee: chosen as never },
        { idempotencyKey },
      );
      onDone(answer);
      const name = free.find((each) => each.principal === chosen)?.name ?? 'A teammate';
      announce(`${name} is on order #${order.number}.`);
    });
  return (
    <Dialog title="Assign" submit="Assign" action={action} onClose={onClose} onSubmit={() => void submit()}>
      <SelectField
        label="Teammate"
        required
        value={chosen}
        hint="They will see this order, and can start and complete it."
        onChange={(event) => setChosen(event.target.value)}
      >
        <option value="">{free.length === 0 ? 'Everybody is on it already' : 'Choose a technician'}</option>
        {free.map((each) => (
          <option key={each.principal} value={each.principal}>
            {each.name ?? each.email ?? 'A teammate'}
            {each.principal === me.principal ? ' (you)' : ''}
          </option>
        ))}
      </SelectField>
    </Dialog>
  );
}

export function CompleteOrder({ order, onClose, onDone }: StepProps) {
  const announce = useAnnounce();
  const action = useAction();
  const [hours, setHours] = useState('1');
  const [minutes, setMinutes] = useState('0');
  const [materials, setMaterials] = useState('0');
  const [note, setNote] = useState('');
  const cents = parseMoney(materials);
  const total = Number(hours) * 60 + Number(minutes);
  const submit = () =>
    action.run(async (idempotencyKey) => {
      const answer = await call(
        'order/complete',
        { order: order.id, minutes: total, materialsCents: cents ?? -1, note },
        { idempotencyKey },
      );
      onDone(answer);
      announce(`Order #${order.number} is done. Its invoice has been drafted.`);
    });
  return (
    <Dialog
      title="Complete"
      submit="Complete order"
      action={action}
      onClose={onClose}
      onSubmit={() => void submit()}
    >
      <div className="field-row">
        <TextField
          label="Hours"
          type="number"
          min={0}
          max={999}
          required
          value={hours}
          onChange={(event) => setHours(event.target.value)}
        />
        <TextField
          label="Minutes"
          name="minutes"
          type="number"
          min={0}
          max={59}
          required
          error={action.error}
          value={minutes}
          onChange={(event) => setMinutes(event.target.value)}
        />
      </div>
      <TextField
        label="Materials"
        inputMode="decimal"
        required
        pattern="\s*\d{1,7}([.,]\d{1,2})?\s*"
        title="An amount such as 12.50"
        hint="What was used up, without tax, for example 12.50."
        value={materials}
        onChange={(event) => setMaterials(event.target.value)}
      />
      <TextArea
        label="Note"
        rows={3}
        maxLength={5_000}
        hint="What was done, what is left. Optional."
        value={note}
        onChange={(event) => setNote(event.target.value)}
      />
    </Dialog>
  );
}

const CANCEL_REASONS = [
  ['customer', 'The customer called it off'],
  ['not_needed', 'It is not needed any more'],
  ['duplicate', 'It was entered twice'],
  ['other', 'Another reason'],
] as const;
type CancelReason = (typeof CANCEL_REASONS)[number][0];

export function CancelOrder({ order, onClose, onDone }: StepProps) {
  const announce = useAnnounce();
  const action = useAction();
  const [reason, setReason] = useState<CancelReason>('customer');
  const submit = () =>
    action.run(async (idempotencyKey) => {
      onDone(await call('order/cancel', { order: order.id, reason }, { idempotencyKey }));
      announce(`Order #${order.number} is cancelled.`);
    });
  return (
    <Dialog
      title={`Cancel order #${order.number}?`}
      submit="Cancel this order"
      danger
      action={action}
      onClose={onClose}
      onSubmit={() => void submit()}
    >
      <p>A cancelled order stays readable, and cannot be opened again.</p>
      <SelectField
        label="Reason"
        value={reason}
        onChange={(event) => setReason(event.target.value as CancelReason)}
      >
        {CANCEL_REASONS.map(([key, words]) => (
          <option key={key} value={key}>
            {words}
          </option>
        ))}
      </SelectField>
    </Dialog>
  );
}

export function EditOrder({ order, version, onClose, onDone, onTakeNewest }: StepProps) {
  const announce = useAnnounce();
  const action = useAction();
  const [title, setTitle] = useState(order.title);
  const [description, setDescription] = useState(order.description ?? '');
  const [urgent, setUrgent] = useState(order.priority === 'urgent');
  const [site, setSite] = useState(order.site?.id ?? '');
  const sites = useLoad(
    `sites ${order.customer.id}`,
    async (signal) =>
      (await call('site/list', { customer: order.customer.id, limit: 200 }, { signal })).value.items,
  );
  const submit = () =>
    action.run(async (idempotencyKey) => {
      const answer = await call(
        'order/update',
        { order: order.id, title, description, priority: urgent ? 'urgent' : 'normal', site: site || null },
        { idempotencyKey, ifMatch: version },
      );
      onDone(answer);
      announce(`Order #${order.number} is saved.`);
    });
  return (
    <Dialog
      title={`Edit order #${order.number}`}
      submit="Save"
      action={action}
      onClose={onClose}
      onSubmit={() => void submit()}
      onTakeNewest={onTakeNewest}
    >
      <TextField
        label="Title"
        name="title"
        error={action.error}
        required
        maxLength={200}
        value={title}
        onChange={(event) => setTitle(event.target.value)}
      />
      <SelectField label="Site" value={site} onChange={(event) => setSite(event.target.value)}>
        <option value="">Not known yet</option>
        {(sites.data ?? (order.site ? [order.site] : [])).map((each) => (
          <option key={each.id} value={each.id}>
            {each.label}, {each.street}, {each.city}
          </option>
        ))}
      </SelectField>
      <TextArea
        label="Description"
        name="description"
        error={action.error}
        rows={6}
        maxLength={5_000}
        value={description}
        onChange={(event) => setDescription(event.target.value)}
      />
      <CheckField label="Urgent" checked={urgent} onChange={(event) => setUrgent(event.target.checked)} />
    </Dialog>
  );
}

/** The present appointment, or the next full hour and two hours from there, within the day. */
function appointmentOf(order: Order): [begin: Date, end: Date] {
  if (order.scheduledFrom !== null && order.scheduledTo !== null)
    return [new Date(order.scheduledFrom), new Date(order.scheduledTo)];
  const next = new Date(Math.ceil(Date.now() / HOUR_MS) * HOUR_MS);
  // Late in the day, tomorrow morning is what is meant.
  if (next.getHours() < 7 || next.getHours() > 18) {
    if (next.getHours() > 18) next.setDate(next.getDate() + 1);
    next.setHours(9, 0, 0, 0);
  }
  return [next, new Date(next.getTime() + 2 * HOUR_MS)];
}
