/**
 * Changes a record. Only the fields that were changed are sent, with the version that the reader saw; where another person
 * was faster, the form shows what they changed and keeps what was typed.
 */
import { useState } from 'react';
import type { DeclaredField, DeclaredKind, DeclaredOperation } from '../../src/wire/declared.ts';
import { Button, Crumbs, PageHead, RefusalNote } from '../components/basics.tsx';
import { Form } from '../components/form.tsx';
import { ask, asRefusal, fillPath, isNotHere, Refusal } from '../lib/api.ts';
import { useApp } from '../lib/app-context.tsx';
import {
  type JsonRecord,
  judgeChange,
  type Overtaken,
  overtakenFields,
  rebased,
  type Values,
  valuesOf,
} from '../lib/forms.ts';
import { useLoad } from '../lib/hooks.ts';
import { spoken, t } from '../lib/language.ts';
import { navigate, setUnsaved } from '../lib/router.ts';
import { parseTyped, shownOf, type Typed, titleOf } from '../lib/values.ts';
import { NotHere } from './not-here.tsx';

interface Read {
  readonly record: JsonRecord;
  readonly version: string | null;
}

interface EditProps {
  readonly kind: DeclaredKind;
  readonly update: DeclaredOperation;
  readonly id: string;
}

export function EditPage(props: EditProps) {
  const { kind, id } = props;
  const path = `${kind.path}/${encodeURIComponent(id)}`;
  const { value, refusal, reload } = useLoad(path, async (address, signal): Promise<Read> => {
    const { value: record, version } = await ask<JsonRecord>(address, { signal });
    return { record, version };
  });
  if (refusal && isNotHere(refusal)) return <NotHere kind={kind} />;
  if (refusal) return <RefusalNote refusal={refusal} retry={reload} />;
  return value && <Edit {...props} path={path} read={value} />;
}

/** The fields of a change: a field that a record needs cannot be emptied. */
function fieldsOf(kind: DeclaredKind, update: DeclaredOperation): DeclaredField[] {
  return update.fields.map((field) => {
    const own = kind.fields.find(({ name }) => name === field.name);
    const isNeeded = own !== undefined && (own.required || own.default !== undefined);
    return { ...field, ...(isNeeded && { required: !field.nullable }) };
  });
}

function Edit({ kind, update, id, path, read }: EditProps & { readonly path: string; readonly read: Read }) {
  const { notify } = useApp();
  const fields = fieldsOf(kind, update);
  const [base, setBase] = useState({ version: read.version, values: valuesOf(fields, read.record, spoken) });
  const [values, setValues] = useState<Values>(base.values);
  const [overtaken, setOvertaken] = useState<readonly Overtaken[]>([]);
  const page = `${kind.page}/${id}`;

  const send = async (input: Record<string, unknown>, key: string): Promise<void> => {
    if (Object.keys(input).length > 0) {
      const { path: address, rest } = fillPath(update.path, { ...input, [kind.parameter]: id });
      try {
        await ask(address, { method: update.method, body: rest, key, ifMatch: base.version });
      } catch (error) {
        const refused = asRefusal(error);
        if (refused.problem.status !== 412) throw refused;
        const { value, version } = await ask<JsonRecord>(path);
        const now = valuesOf(fields, value, spoken);
        setOvertaken(overtakenFields(fields, { before: base.values, values, now }));
        setValues(rebased({ before: base.values, values, now }));
        setBase({ version, values: now });
        throw new Refusal({ ...refused.problem, detail: t.changedTitle });
      }
    }
    setUnsaved(false);
    navigate(page, { replace: true });
    notify({ text: t.saved(titleOf(kind, { ...read.record, ...input }, spoken)) });
  };
  return (
    <>
      <Crumbs kind={kind} to={page} name={titleOf(kind, read.record, spoken)} />
      <PageHead title={t.edit} />
      <div className="card">
        <Form
          fields={fields}
          values={values}
          onChange={setValues}
          judge={() => judgeChange(fields, { before: base.values, values }, spoken)}
          send={send}
          onCancel={() => navigate(page)}
          submit={overtaken.length > 0 ? t.saveAnyway : t.save}
        >
          {overtaken.length > 0 && (
            <Compared
              overtaken={overtaken}
              values={values}
              onTake={(name, theirs) => setValues({ ...values, [name]: theirs })}
            />
          )}
        </Form>
      </div>
    </>
  );
}

/** The changes of another person, beside what was typed. */
function Compared({
  overtaken,
  values,
  onTake,
}: {
  readonly overtaken: readonly Overtaken[];
  readonly values: Values;
  readonly onTake: (name: string, theirs: Typed) => void;
}) {
  const contested = overtaken.filter(({ isContested }) => isContested);
  const others = overtaken.filter(({ isContested }) => !isContested);
  return (
    <div className="note">
      <p>{t.changedWhat}</p>
      {contested.length > 0 && (
        <table className="compared">
          <thead>
            <tr>
              <td />
              <th>{t.theirs}</th>
              <th>{t.yours}</th>
              <td />
            </tr>
          </thead>
          <tbody>
            {contested.map(({ field, theirs }) => (
              <tr key={field.name}>
                <th scope="row">{field.label}</th>
                <td>{shownTyped(field, theirs)}</td>
                <td>{shownTyped(field, values[field.name] ?? null)}</td>
                <td>
                  <Button onClick={() => onTake(field.name, theirs)}>{t.takeTheirs(field.label)}</Button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {others.length > 0 && (
        <>
          <p>{t.changedOthers}</p>
          <ul>
            {others.map(({ field, theirs }) => (
              <li key={field.name}>
                {field.label}: {shownTyped(field, theirs)}
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

function shownTyped(field: DeclaredField, typed: Typed): string {
  if (typed !== null && typeof typed === 'object' && 'id' in typed) return typed.name ?? '–';
  const { value } = parseTyped({ ...field, required: false }, typed, spoken);
  return (value === undefined ? String(typed ?? '') : shownOf(field, value, spoken)) || '–';
}
