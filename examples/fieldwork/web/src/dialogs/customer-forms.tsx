/** The forms of customers and their sites: one for each, to add and to change. */
import { useState } from 'react';
import { LANGUAGE_TAGS, LANGUAGES } from '../../../src/lib/languages.ts';
import { useAnnounce } from '../components/announce.tsx';
import { Dialog } from '../components/dialog.tsx';
import { SelectField, TextArea, TextField } from '../components/fields.tsx';
import { type Answer, type Customer, call, type Input, type Site } from '../lib/api.ts';
import { useAction } from '../lib/use-action.ts';

interface FormProps<T> {
  readonly onClose: () => void;
  readonly onDone: (answer: Answer<T>) => void;
  /** The customer to change; absent for a new one. */
  readonly present?: T;
  readonly version?: string | null;
  readonly onTakeNewest?: () => void;
}

export function CustomerForm({ present, version, onClose, onDone, onTakeNewest }: FormProps<Customer>) {
  const announce = useAnnounce();
  const action = useAction();
  const [fields, setFields] = useState({
    name: present?.name ?? '',
    phone: present?.phone ?? '',
    email: present?.email ?? '',
    language: present?.language ?? '',
    remarks: present?.remarks ?? '',
  });
  const submit = () =>
    action.run(async (idempotencyKey) => {
      const sent = { ...fields, language: fields.language as Input<'customer/create'>['language'] };
      const answer = present
        ? await call(
            'customer/update',
            { customer: present.id, ...sent },
            { idempotencyKey, ifMatch: version },
          )
        : await call('customer/create', sent, { idempotencyKey });
      onDone(answer);
      announce(`${answer.value.name} is saved.`);
    });
  const bind = (name: keyof typeof fields) => ({
    name,
    error: action.error,
    value: fields[name],
    onChange: (event: { target: { value: string } }) => setFields({ ...fields, [name]: event.target.value }),
  });
  return (
    <Dialog
      title={present ? `Edit ${present.name}` : 'New customer'}
      submit={present ? 'Save' : 'Add customer'}
      action={action}
      onClose={onClose}
      onSubmit={() => void submit()}
      {...(onTakeNewest && { onTakeNewest })}
    >
      <TextField
        label="Name"
        required
        maxLength={200}
        placeholder="A person or a company"
        {...bind('name')}
      />
      <div className="field-row">
        <TextField label="Phone" type="tel" maxLength={50} {...bind('phone')} />
        <TextField label="E-mail" type="email" {...bind('email')} />
      </div>
      <SelectField label="Language" hint="What they are written to in" {...bind('language')}>
        <option value="">Not known</option>
        {LANGUAGE_TAGS.map((tag) => (
          <option key={tag} value={tag} lang={tag}>
            {LANGUAGES[tag][1]}
          </option>
        ))}
      </SelectField>
      <TextArea label="Remarks" maxLength={2_000} rows={3} {...bind('remarks')} />
    </Dialog>
  );
}

export function SiteForm({
  customer,
  present,
  version,
  onClose,
  onDone,
}: FormProps<Site> & { readonly customer: { readonly id: string; readonly name: string } }) {
  const announce = useAnnounce();
  const action = useAction();
  const [fields, setFields] = useState({
    label: present?.label ?? '',
    street: present?.street ?? '',
    postcode: present?.postcode ?? '',
    city: present?.city ?? '',
    access: present?.access ?? '',
  });
  const submit = () =>
    action.run(async (idempotencyKey) => {
      const answer = present
        ? await call('site/update', { site: present.id, ...fields }, { idempotencyKey, ifMatch: version })
        : await call('site/create', { customer: customer.id, ...fields }, { idempotencyKey });
      onDone(answer);
      announce(`${answer.value.label} is saved.`);
    });
  const bind = (name: keyof typeof fields) => ({
    name,
    error: action.error,
    value: fields[name],
    onChange: (event: { target: { value: string } }) => setFields({ ...fields, [name]: event.target.value }),
  });
  return (
    <Dialog
      title={present ? `Edit ${present.label}` : `New site of ${customer.name}`}
      submit={present ? 'Save' : 'Add site'}
      action={action}
      onClose={onClose}
      onSubmit={() => void submit()}
    >
      <TextField
        label="Site name"
        required
        maxLength={100}
        placeholder="Home, Warehouse, …"
        {...bind('label')}
      />
      <TextField label="Street" required maxLength={200} {...bind('street')} />
      <div className="field-row">
        <TextField label="Postcode" maxLength={20} {...bind('postcode')} />
        <TextField label="City" required maxLength={100} {...bind('city')} />
      </div>
      <TextArea
        label="How to get in"
        maxLength={2_000}
        rows={3}
        hint="Keys, codes, opening hours. Technicians who are assigned to an order here will see this."
        {...bind('access')}
      />
    </Dialog>
  );
}
