/** Opening a work order, with its customer and place added on the way when they are new. */
import { useRef, useState } from 'react';
import { useAnnounce } from '../components/announce.tsx';
import { CustomerPicker, type Picked } from '../components/customer-picker.tsx';
import { Dialog } from '../components/dialog.tsx';
import { CheckField, SelectField, TextArea, TextField } from '../components/fields.tsx';
import { call, newIdempotencyKey } from '../lib/api.ts';
import { goTo } from '../lib/router.ts';
import { useSession } from '../lib/session.tsx';
import { useAction } from '../lib/use-action.ts';
import { useLoad } from '../lib/use-load.ts';

const NEW_SITE = 'new';
const NO_SITE = '';

export function NewOrder({ onClose, customer }: { onClose: () => void; customer?: Picked }) {
  const { can } = useSession();
  const announce = useAnnounce();
  const action = useAction();
  const [title, setTitle] = useState('');
  const [description, setDescription] = useState('');
  const [urgent, setUrgent] = useState(false);
  const [picked, setPicked] = useState<Picked | null>(customer ?? null);
  const [phone, setPhone] = useState('');
  const [site, setSite] = useState(NO_SITE);
  const [place, setPlace] = useState({ label: '', street: '', postcode: '', city: '' });
  /** Records that were made so far, so that a second attempt does not make them again. */
  const made = useRef<{ readonly picked: Picked | null; customer?: string; site?: string }>({ picked: null });
  const stepKeys = useRef({ customer: newIdempotencyKey(), site: newIdempotencyKey() });

  const knownId = picked?.kind === 'known' ? picked.customer.id : null;
  const sites = useLoad(
    knownId && `sites ${knownId}`,
    async (signal) =>
      (await call('site/list', { customer: knownId ?? '', limit: 200 }, { signal })).value.items,
  );
  // A customer's places belong to that customer only.
  const pick = (next: Picked | null) => {
    setPicked(next);
    setSite(NO_SITE);
  };

  const submit = () =>
    action.run(async (idempotencyKey) => {
      if (!picked) return;
      if (made.current.picked !== picked) made.current = { picked };
      const progress = made.current;
      progress.customer ??=
        picked.kind === 'known'
          ? picked.customer.id
          : (
              await call(
                'customer/create',
                { name: picked.name, phone },
                { idempotencyKey: stepKeys.current.customer },
              )
            ).value.id;
      if (site === NEW_SITE) {
        progress.site ??= (
          await call(
            'site/create',
            { customer: progress.customer, ...place },
            { idempotencyKey: stepKeys.current.site },
          )
        ).value.id;
      }
      const chosen = site === NEW_SITE ? progress.site : site;
      const { value: order } = await call(
        'order/create',
        {
          customer: progress.customer,
          site: chosen || null,
          title,
          description,
          priority: urgent ? 'urgent' : 'normal',
        },
        { idempotencyKey },
      );
      onClose();
      goTo(`/orders/${order.id}`);
      announce(`Order #${order.number} is open as a draft.`);
    });

  const placeField = (name: keyof typeof place, label: string, required = true) => (
    <TextField
      label={label}
      name={name}
      error={action.error}
      required={required}
      maxLength={100}
      value={place[name]}
      onChange={(event) => setPlace({ ...place, [name]: event.target.value })}
    />
  );

  return (
    <Dialog
      title="New order"
      submit="Open order"
      action={action}
      onClose={onClose}
      onSubmit={() => void submit()}
    >
      <TextField
        label="Title"
        name="title"
        error={action.error}
        data-autofocus
        required
        maxLength={200}
        placeholder="What is to be done?"
        value={title}
        onChange={(event) => setTitle(event.target.value)}
      />
      <CustomerPicker picked={picked} onPick={pick} mayAdd={can('customer.write')} />
      {picked?.kind === 'new' && (
        <div className="inset">
          <TextField
            label="Phone"
            name="phone"
            type="tel"
            maxLength={50}
            error={action.error}
            hint="So that the technician can call ahead."
            value={phone}
            onChange={(event) => setPhone(event.target.value)}
          />
        </div>
      )}
      {picked && (
        <SelectField label="Site" value={site} onChange={(event) => setSite(event.target.value)}>
          <option value={NO_SITE}>Not known yet</option>
          {sites.data?.map((each) => (
            <option key={each.id} value={each.id}>
              {each.label}, {each.street}, {each.city}
            </option>
          ))}
          {can('site.write') && <option value={NEW_SITE}>Add a new site…</option>}
        </SelectField>
      )}
      {picked && site === NEW_SITE && (
        <div className="inset">
          {placeField('label', 'Site name')}
          {placeField('street', 'Street')}
          <div className="field-row">
            {placeField('postcode', 'Postcode', false)}
            {placeField('city', 'City')}
          </div>
        </div>
      )}
      <TextArea
        label="Description"
        name="description"
        error={action.error}
        maxLength={5_000}
        rows={3}
        value={description}
        onChange={(event) => setDescription(event.target.value)}
      />
      <CheckField label="Urgent" checked={urgent} onChange={(event) => setUrgent(event.target.checked)} />
    </Dialog>
  );
}
