/** The history of a customer, in words. Data about an erased person is left out. */
import { type Effect, facts, inWords, Story, type Told } from '../components/story.tsx';

export function CustomerHistory({ customer, version }: { customer: string; version: string | null }) {
  return <Story path={`/api/customers/${customer}/history`} version={version} describe={describe} />;
}

const FIELD_NAMES: Readonly<Record<string, string>> = {
  name: 'the name',
  phone: 'the phone number',
  email: 'the e-mail address',
  language: 'the language',
  remarks: 'the remarks',
};

function describe({ type, payload }: Effect): Told {
  const known = facts(payload);
  const gone = '$shredded' in known ? ' What it was is erased.' : '';
  if (type === 'customer.created') return { icon: 'plus', text: `added the customer.${gone}` };
  if (type === 'customer.erased')
    return { icon: 'cross', text: 'erased everything that was known about the customer.' };
  if (type === 'customer.updated') {
    const fields = Array.isArray(known.fields) ? known.fields.map(String) : [];
    const changes = fields.map((field) => change(field, known[field]));
    return { icon: 'pencil', text: `changed ${inWords(changes) || 'something'}.${gone}` };
  }
  return { icon: 'flag', text: `did something (${type}).` };
}

/** "the phone number to 0123", "the remarks" */
function change(field: string, value: unknown): string {
  const name = FIELD_NAMES[field] ?? field;
  if (value === null) return `${name} to nothing`;
  return typeof value === 'string' ? `${name} to ${value}` : name;
}
