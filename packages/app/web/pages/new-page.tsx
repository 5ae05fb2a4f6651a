/** Adds a record. The address can bring values: `?keeper=kpr_…`. */
import { useState } from 'react';
import type { DeclaredKind, DeclaredOperation } from '../../src/wire/declared.ts';
import { Crumbs, PageHead } from '../components/basics.tsx';
import { Form } from '../components/form.tsx';
import { ask, fillPath } from '../lib/api.ts';
import { useApp } from '../lib/app-context.tsx';
import { type JsonRecord, judge, type Values, valuesOf } from '../lib/forms.ts';
import { spoken, t } from '../lib/language.ts';
import { navigate, setUnsaved, usePlace } from '../lib/router.ts';
import { titleOf } from '../lib/values.ts';

export function NewPage({
  kind,
  create,
}: {
  readonly kind: DeclaredKind;
  readonly create: DeclaredOperation;
}) {
  const { notify } = useApp();
  const { search } = usePlace();
  const given = Object.fromEntries(new URLSearchParams(search));
  const empty = (): Values => {
    const values = valuesOf(create.fields, null, spoken);
    const inAddress = create.fields.filter(({ name }) => given[name] !== undefined);
    return { ...values, ...valuesOf(inAddress, given, spoken) };
  };
  const [values, setValues] = useState(empty);
  const [times, setTimes] = useState(0);

  const send = async (
    input: Record<string, unknown>,
    key: string,
    way: string | undefined,
  ): Promise<void> => {
    const { path, rest } = fillPath(create.path, input);
    const { value } = await ask<JsonRecord>(path, { method: create.method, body: rest, key });
    setUnsaved(false);
    const isAnother = way === 'another';
    if (isAnother) {
      setValues(empty());
      setTimes(times + 1);
    } else
      navigate(typeof value?.id === 'string' ? `${kind.page}/${value.id}` : kind.page, { replace: true });
    // After the way to the next page, which takes the notices of this one away.
    notify({ text: t.saved(titleOf(kind, value, spoken)) });
  };
  return (
    <>
      <Crumbs kind={kind} />
      <PageHead title={t.add(kind.singular)} />
      <div className="card">
        <Form
          key={times}
          fields={create.fields}
          values={values}
          onChange={setValues}
          judge={() => judge(create.fields, values, spoken)}
          send={send}
          onCancel={() => navigate(kind.page)}
          submit={t.save}
          more={{ name: 'another', label: t.addAnother }}
        />
      </div>
    </>
  );
}
