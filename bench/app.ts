/** The time to open and close one instance of an application in memory, as each test of a builder does. */
import { testApp } from '@freehold/app/testing';
import { fieldwork } from '@freehold/fieldwork';
import { type Row, within } from './harness.ts';

const LIMIT_MS = 50;

export async function benchApp(): Promise<Row[]> {
  const open = async (): Promise<void> => {
    await using instance = await testApp(fieldwork);
    const { principal } = instance.as('ada', { role: 'owner' });
    await principal();
  };
  // The first one loads modules and applies the migrations.
  await open();
  return [await within('an instance of fieldwork in memory', LIMIT_MS, open)];
}
