"""Correct answers to questions of the shipped catalogue in other words than the expected answers.

``PARAPHRASES`` was written from the expected answers before any scoring rule was tried on it; the
two other tables were written later. The comments say how each answer differs from the expected one.
All answers are true, and none was written with the scoring in mind.
"""

from __future__ import annotations

PARAPHRASES = {
    # In reverse order.
    "HIA-02": "The Peasants' Revolt under Wat Tyler broke out in 1381 because people hated the "
    "poll tax and a law of thirty years before, the Statute of Labourers, by which Parliament had "
    "meant to freeze pay. Pay had gone up since workers were so few, and workers were few because "
    "the Black Death, which came to England in 1348, had killed perhaps half of them.",
    # In other words.
    "HIA-06": "When Bonaparte invaded Egypt in 1798, his soldiers dug up a slab at Rosetta a year "
    "later. Because the same text was carved on it three times, twice in Egyptian scripts and once "
    "in Greek, scholars could use the Greek as a key. The Frenchman Champollion cracked the signs "
    "in 1822, so the pharaohs' own writings could be read again.",
    # In the passive, the chain broken into short sentences.
    "EIS-05": "The structure of indigo had been found out by Adolf von Baeyer. From 1897 an "
    "artificial version was sold by BASF. Plant indigo was driven out of the market within twenty "
    "years. Hardly any was exported from India any more, and the fields were given up.",
    # One line.
    "EIS-08": "Carter's Airline Deregulation Act freed fares and routes, so tickets got cheaper, "
    "and the Civil Aeronautics Board was abolished by 1985.",
    # Names and verbs of movement only: a chain told tersely.
    "EIS-03": "Seiko launched the quartz Astron in 1969. Quartz undercut mechanical watches. "
    "The Swiss watch industry collapsed in the quartz crisis. Swatch, in 1983, was its comeback.",
    # The effect first, then the cause.
    "EEC-03": "Fish exports boomed, but hundreds of kinds of small cichlids that lived nowhere "
    "else disappeared, because a big predator, the Nile perch, had been released into the lake in "
    "the 1950s and multiplied wildly some thirty years later.",
    # In other words.
    "EEC-07": "Because there are almost no birds to eat the spiders. Brown tree snakes, stowaways "
    "on ships after the Second World War, devoured nearly all of the island's woodland birds, "
    "and so spiders thrive there much more than on islands nearby.",
    # At length, with asides.
    "EEC-09": "It was the drug diclofenac, which farmers gave to cows against pain. In South Asia "
    "dead cows are commonly left out in the open, and vultures come to eat them; when there was "
    "diclofenac in the meat, the birds' kidneys stopped working and they died within days. A team "
    "led by Lindsay Oaks worked this out in 2004. By then more than nine in ten of the birds of "
    "the three Gyps species had gone. In 2006 India forbade the drug for use in animals.",
    # In a learner's English.
    "EEC-05": "The factory of Chisso company was putting methylmercury in the sea of Minamata. The "
    "fishes and the shells took it in their body and the people which ate them became very ill. "
    "In 1956 it was known officially as the Minamata disease. For this reason the treaty of 2013 "
    "for limiting mercury has the name Minamata Convention.",
    # In other words.
    "STE-02": "In 1928 Fleming saw that bacteria died around a mould in his laboratory. Some ten "
    "years later a team at Oxford, among them Florey and Chain, extracted the active substance and "
    "tried it on the sick. Companies in the United States learned to grow the mould in large "
    "tanks, and by June 1944 the armies landing in Normandy had plenty of penicillin.",
    # In reverse order.
    "STE-04": "Marconi's wireless telegraph, with which he bridged the Atlantic in 1901, used "
    "waves that Hertz had been able to generate and detect in his laboratory in the late 1880s. "
    "That such electromagnetic waves must exist had been foretold by Maxwell in 1865.",
    # In the passive.
    "STE-08": "The pile was announced by Volta in 1800. Water was soon decomposed with it by "
    "Nicholson and Carlisle. Strong batteries were then used by Humphry Davy, and potassium and "
    "sodium were obtained from molten potash and soda in 1807.",
    # One line.
    "PSM-03": "After Rosa Parks was arrested in 1955, Martin Luther King led a boycott of more "
    "than a year, and in 1956 the courts ruled in Browder v. Gayle that segregated buses violate "
    "the Constitution.",
    # In other words.
    "PSM-06": "Police stormed the Stonewall Inn in June 1969, and the guests and neighbours fought "
    "back for several nights. Activists then set up the Gay Liberation Front. A year after the "
    "riots Craig Rodwell and his friends held a march from Christopher Street, and pride parades "
    "have been held every year since.",
    # At length.
    "PSM-02": "Upton Sinclair wanted The Jungle, which came out in 1906, to make readers pity the "
    "workers of Chicago's slaughterhouses. What disgusted the public instead was the dirt in their "
    "food. Roosevelt sent Neill and Reynolds to look into it, and their report bore the book out. "
    "Congress passed two laws the same summer, the Meat Inspection Act and the Pure Food and Drug "
    "Act, so that inspectors of the federal government have watched over meat plants ever since.",
    # A chain told in names, with other verbs.
    "SFT-05": "Vaswani's team described the Transformer in Attention Is All You Need (2017). "
    "GPT-3, which OpenAI finished in 2020, is a Transformer. Humans rated its replies, and it was "
    "tuned on these ratings to obey instructions. ChatGPT came out of that in 2022.",
    # The three in another order.
    "SFT-08": "Sony brought the battery to the shops in 1991. Its anode of carbon goes back to "
    "Akira Yoshino in 1985, its cathode of lithium cobalt oxide to John Goodenough in 1980, and "
    "the whole idea of a rechargeable lithium cell to Stanley Whittingham, who had tried titanium "
    "disulphide in the 1970s.",
    # In other words, terse.
    "SFT-02": "Karikó and Weissman found in 2005 that swapping one RNA letter for a modified one, "
    "pseudouridine, keeps the immune system from attacking the RNA. Wrapped in fat droplets, such "
    "mRNA became the vaccines of Pfizer and Moderna, cleared at the end of 2020.",
}

LATER_PARAPHRASES = {
    "HIA-03": "Mary Shelley started Frankenstein because Byron's guests at the Villa Diodati, shut "
    "in by rain and cold in the summer of 1816, challenged each other to invent ghost stories. "
    "The summer was that bad because Tambora had blown up in 1815 and its dust dimmed the sun. "
    "The novel was printed in 1818.",
    "HIA-07": "The sepoys rose at Meerut in 1857. Their revolt became a war all over northern "
    "India. When it had been crushed, Parliament dissolved the Company's government with an Act of "
    "1858, and the Crown ruled directly, as the British Raj, until independence in 1947.",
    "EIS-01": "McLean loaded boxes on the Ideal X in 1956. Since containers made handling cheap, "
    "ships became bigger than the old docks could take, so business went to Tilbury, the docks "
    "shut down by 1981, and Canary Wharf stands there now.",
    "STE-06": "Penzias and Wilson could not get rid of noise in the antenna at Holmdel. Dicke at "
    "Princeton told them what it was: the microwave background left by the Big Bang. COBE, which "
    "went up in 1989, found that its spectrum is that of a black body, with very small "
    "variations from place to place.",
    "PSM-09": "Disabled activists under Judith Heumann sat in for weeks in 1977 until the rules "
    "for Section 504, which forbids discrimination, were signed. Congress copied the idea in the "
    "Americans with Disabilities Act, signed by Bush in 1990.",
    "PSM-10": "Jody Williams coordinated a campaign of six groups, founded in 1992, against "
    "landmines. Canada invited states to Ottawa in 1996, the treaty was ready in 1997, and that "
    "year the campaign was given the Nobel Peace Prize. It has been law since 1999.",
    "SFT-03": "AlphaFold 2, by DeepMind, was so good at CASP14 in 2020 that the problem counted as "
    "largely solved. CASP is a contest which Moult started in 1994. The predicted structures "
    "were put online with EMBL-EBI in 2021, and a year later there were more than 200 million.",
    "SFT-04": "Shor's algorithm of 1994 factors big numbers fast on a quantum computer, so RSA "
    "would no longer be safe. That is why NIST called for new methods in 2016 and issued "
    "standards in 2024, for example FIPS 203 with ML-KEM, which was called CRYSTALS-Kyber before.",
    "SFT-09": "Maiman built a laser in 1960. Nuckolls suggested in 1972 that lasers might squeeze "
    "fuel until it fuses. The National Ignition Facility was ready in 2009 and succeeded in "
    "December 2022: 2.05 megajoules in, 3.15 out.",
    "SFT-07": "Nakamura made blue LEDs bright by 1993. That was possible because Akasaki and Amano "
    "had learned to grow gallium nitride and to dope it p-type in 1989. Blue light on a yellow "
    "phosphor looks white, and such lamps need a fraction of the electricity.",
}
"""More paraphrases, written after the scoring rules were fixed."""

LIST_PARAPHRASES = {
    "HIA-08": "- 1839: Lin Zexu seizes and destroys opium at Humen.\n- 1839-1842: Britain fights "
    "the First Opium War.\n- 1842: Treaty of Nanking; Hong Kong Island ceded, five ports opened.",
    "HIA-05": "Perry's squadron in 1853 → Convention of Kanagawa in 1854 → unequal treaties weaken "
    "the Tokugawa shogunate → Meiji Restoration in 1868, power back to the emperor.",
    "HIA-10": "Scilly wreck of Shovell's fleet, 1707 → Longitude Act, 1714 → Harrison's H4, 1759 → "
    "longitude at sea by timekeeper.",
    "SFT-06": "**2015:** first Falcon 9 booster lands at Cape Canaveral.\n**2017:** SES-10 flies "
    "on a used booster.\nReuse becomes routine for SpaceX.",
    "STE-08": "1. Volta announces the pile (1800). 2. Nicholson and Carlisle electrolyse water. 3. "
    "Davy electrolyses potash and soda. 4. Davy isolates potassium and sodium (1807).",
    "SFT-08": "Whittingham: titanium disulphide cathode. Goodenough: lithium cobalt oxide cathode "
    "(1980). Yoshino: carbon anode (1985). Sony sells the battery in 1991 for portable "
    "electronics.",
    "HIA-06": "Timeline: French campaign in Egypt, 1798; Rosetta Stone found, 1799; same decree in "
    "hieroglyphic, Demotic and Greek; Champollion's decipherment, 1822; Egypt's written records "
    "readable.",
}
"""Correct answers as lists, like those of chat programs; also written after the scoring rules."""
