/** People at their work: whatever they do is done for real, and counted. To look is no step. */
import type { Locator, Page } from 'playwright-core';
import { load } from '../helpers/console.js';
import type { Ran, Sluice } from '../helpers/sluice.js';

const LINKS = 3;

/** Somebody at a browser. A click, a choice and a filled field are a step each. */
export class Hand {
  steps = 0;

  constructor(readonly page: Page) {}

  /** A link works once. So there is a new one when the machine's network changed while it was followed. */
  async open(makeLink: () => Promise<string>): Promise<void> {
    this.steps++;
    const pages = this.page.getByRole('navigation', { name: 'Pages', exact: true });
    for (let tried = 1; tried <= LINKS; tried++) {
      await load(this.page, await makeLink());
      await pages.or(this.page.getByLabel('Admin token')).first().waitFor();
      if (await pages.isVisible()) return;
    }
    throw new Error('the console did not open');
  }

  /** By the navigation. */
  async go(name: string): Promise<void> {
    const pages = this.page.getByRole('navigation', { name: 'Pages', exact: true });
    await this.click(pages.getByRole('link', { name, exact: true }));
    await this.page.getByRole('heading', { level: 1, name }).waitFor();
  }

  async click(what: Locator): Promise<void> {
    this.steps++;
    await what.click();
  }

  async press(name: string | RegExp): Promise<void> {
    const scope = await this.#scope();
    await this.click(scope.getByRole('button', { name }).first());
  }

  async fill(label: string, text: string): Promise<void> {
    this.steps++;
    const scope = await this.#scope();
    await scope.getByLabel(label, { exact: true }).first().fill(text);
  }

  async choose(label: string, value: string): Promise<void> {
    this.steps++;
    const scope = await this.#scope();
    await scope.getByLabel(label, { exact: true }).first().selectOption(value);
  }

  /** An open dialog is all that can be reached. */
  async #scope(): Promise<Locator> {
    const dialog = this.page.locator('dialog[open]');
    return (await dialog.count()) > 0 ? dialog : this.page.locator('main');
  }

  async sees(text: string | RegExp): Promise<void> {
    await this.page.getByText(text).locator('visible=true').first().waitFor();
  }
}

/** Somebody at a terminal. A command is a step, and so is an edit of a file. */
export class Terminal {
  steps = 0;

  constructor(private readonly sluice: Sluice) {}

  async run(args: string | string[]): Promise<Ran> {
    this.steps++;
    const ran = await this.sluice(args);
    if (ran.code !== 0) throw new Error(`sluice ${[args].flat().join(' ')}: ${ran.err}`);
    return ran;
  }

  async sees(args: string | string[], expected: RegExp): Promise<void> {
    const { out } = await this.run(args);
    if (!expected.test(out))
      throw new Error(`sluice ${[args].flat().join(' ')} does not show ${expected}:\n${out}`);
  }
}
