"""Makes the tables that the generators of molecules and maps draw from; their output is committed.

    python scripts/svg_tables.py molecules data/svg/generators/molecules.json     (needs rdkit, in any environment)
    python scripts/svg_tables.py world ~/.cache/trivium/inputs/world-atlas data/svg/generators/world.json

Molecules: structures from the list below, laid out by RDKit, bonds about 1 long. Countries: Natural Earth at 1:110
million as the package world-atlas holds it (TopoJSON), as polygons of longitude and latitude in steps of 0.05 degrees.
"""

import json
import sys
from pathlib import Path
from typing import Any

SMILES = {
    "methane": "C",
    "ethane": "CC",
    "propane": "CCC",
    "butane": "CCCC",
    "isobutane": "CC(C)C",
    "hexane": "CCCCCC",
    "ethene": "C=C",
    "propene": "CC=C",
    "ethyne": "C#C",
    "1,3-butadiene": "C=CC=C",
    "isoprene": "CC(=C)C=C",
    "cyclopropane": "C1CC1",
    "cyclobutane": "C1CCC1",
    "cyclopentane": "C1CCCC1",
    "cyclohexane": "C1CCCCC1",
    "cyclohexene": "C1CCC=CC1",
    "benzene": "c1ccccc1",
    "toluene": "Cc1ccccc1",
    "ethylbenzene": "CCc1ccccc1",
    "styrene": "C=Cc1ccccc1",
    "naphthalene": "c1ccc2ccccc2c1",
    "anthracene": "c1ccc2cc3ccccc3cc2c1",
    "phenanthrene": "c1ccc2c(c1)ccc1ccccc12",
    "pyrene": "c1cc2ccc3cccc4ccc(c1)c2c34",
    "biphenyl": "c1ccc(-c2ccccc2)cc1",
    "methanol": "CO",
    "ethanol": "CCO",
    "1-propanol": "CCCO",
    "2-propanol": "CC(C)O",
    "1-butanol": "CCCCO",
    "ethylene glycol": "OCCO",
    "glycerol": "OCC(O)CO",
    "phenol": "Oc1ccccc1",
    "catechol": "Oc1ccccc1O",
    "hydroquinone": "Oc1ccc(O)cc1",
    "menthol": "CC1CCC(C(C)C)C(O)C1",
    "borneol": "CC1(C)C2CCC1(C)C(O)C2",
    "geraniol": "CC(C)=CCCC(C)=CCO",
    "linalool": "C=CC(C)(O)CCC=C(C)C",
    "thymol": "Cc1ccc(C(C)C)c(O)c1",
    "carvacrol": "Cc1ccc(C(C)C)cc1O",
    "eugenol": "C=CCc1ccc(O)c(OC)c1",
    "vanillin": "COc1cc(C=O)ccc1O",
    "cinnamaldehyde": "O=CC=Cc1ccccc1",
    "benzaldehyde": "O=Cc1ccccc1",
    "acetaldehyde": "CC=O",
    "formaldehyde": "C=O",
    "acetone": "CC(C)=O",
    "butanone": "CCC(C)=O",
    "cyclohexanone": "O=C1CCCCC1",
    "acetophenone": "CC(=O)c1ccccc1",
    "camphor": "CC1(C)C2CCC1(C)C(=O)C2",
    "carvone": "C=C(C)C1CC=C(C)C(=O)C1",
    "limonene": "C=C(C)C1CC=C(C)CC1",
    "alpha-pinene": "CC1=CCC2CC1C2(C)C",
    "formic acid": "O=CO",
    "acetic acid": "CC(=O)O",
    "propionic acid": "CCC(=O)O",
    "butyric acid": "CCCC(=O)O",
    "oxalic acid": "O=C(O)C(=O)O",
    "malonic acid": "O=C(O)CC(=O)O",
    "succinic acid": "O=C(O)CCC(=O)O",
    "lactic acid": "CC(O)C(=O)O",
    "malic acid": "O=C(O)CC(O)C(=O)O",
    "tartaric acid": "O=C(O)C(O)C(O)C(=O)O",
    "citric acid": "O=C(O)CC(O)(CC(=O)O)C(=O)O",
    "benzoic acid": "O=C(O)c1ccccc1",
    "salicylic acid": "O=C(O)c1ccccc1O",
    "aspirin": "CC(=O)Oc1ccccc1C(=O)O",
    "cinnamic acid": "O=C(O)C=Cc1ccccc1",
    "ibuprofen": "CC(C)Cc1ccc(C(C)C(=O)O)cc1",
    "paracetamol": "CC(=O)Nc1ccc(O)cc1",
    "naproxen": "COc1ccc2cc(C(C)C(=O)O)ccc2c1",
    "ethyl acetate": "CCOC(C)=O",
    "methyl salicylate": "COC(=O)c1ccccc1O",
    "isoamyl acetate": "CC(=O)OCCC(C)C",
    "diethyl ether": "CCOCC",
    "tetrahydrofuran": "C1CCOC1",
    "1,4-dioxane": "C1COCCO1",
    "furan": "c1ccoc1",
    "furfural": "O=Cc1ccco1",
    "anisole": "COc1ccccc1",
    "methylamine": "CN",
    "triethylamine": "CCN(CC)CC",
    "aniline": "Nc1ccccc1",
    "pyrrole": "c1cc[nH]c1",
    "pyridine": "c1ccncc1",
    "imidazole": "c1c[nH]cn1",
    "pyrimidine": "c1cncnc1",
    "indole": "c1ccc2[nH]ccc2c1",
    "quinoline": "c1ccc2ncccc2c1",
    "purine": "c1ncc2[nH]cnc2n1",
    "piperidine": "C1CCNCC1",
    "morpholine": "C1COCCN1",
    "nicotine": "CN1CCCC1c1cccnc1",
    "caffeine": "Cn1cnc2c1c(=O)n(C)c(=O)n2C",
    "theobromine": "Cn1cnc2c1c(=O)[nH]c(=O)n2C",
    "adenine": "Nc1ncnc2[nH]cnc12",
    "guanine": "Nc1nc2[nH]cnc2c(=O)[nH]1",
    "cytosine": "Nc1cc[nH]c(=O)n1",
    "thymine": "Cc1c[nH]c(=O)[nH]c1=O",
    "uracil": "O=c1cc[nH]c(=O)[nH]1",
    "urea": "NC(N)=O",
    "acetamide": "CC(N)=O",
    "glycine": "NCC(=O)O",
    "alanine": "CC(N)C(=O)O",
    "serine": "NC(CO)C(=O)O",
    "valine": "CC(C)C(N)C(=O)O",
    "leucine": "CC(C)CC(N)C(=O)O",
    "phenylalanine": "NC(Cc1ccccc1)C(=O)O",
    "tyrosine": "NC(Cc1ccc(O)cc1)C(=O)O",
    "tryptophan": "NC(Cc1c[nH]c2ccccc12)C(=O)O",
    "cysteine": "NC(CS)C(=O)O",
    "methionine": "CSCCC(N)C(=O)O",
    "histidine": "NC(Cc1c[nH]cn1)C(=O)O",
    "lysine": "NCCCCC(N)C(=O)O",
    "aspartic acid": "NC(CC(=O)O)C(=O)O",
    "glutamic acid": "NC(CCC(=O)O)C(=O)O",
    "proline": "O=C(O)C1CCCN1",
    "dopamine": "NCCc1ccc(O)c(O)c1",
    "serotonin": "NCCc1c[nH]c2ccc(O)cc12",
    "histamine": "NCCc1c[nH]cn1",
    "adrenaline": "CNCC(O)c1ccc(O)c(O)c1",
    "melatonin": "COc1ccc2[nH]cc(CCNC(C)=O)c2c1",
    "GABA": "NCCCC(=O)O",
    "glucose": "OCC1OC(O)C(O)C(O)C1O",
    "fructose": "OCC1(O)OCC(O)C(O)C1O",
    "ribose": "OCC1OC(O)C(O)C1O",
    "ascorbic acid": "OCC(O)C1OC(=O)C(O)=C1O",
    "niacin": "O=C(O)c1cccnc1",
    "coumarin": "O=c1ccc2ccccc2o1",
    "thiophene": "c1ccsc1",
    "thiazole": "c1cscn1",
    "dimethyl sulfide": "CSC",
    "ethanethiol": "CCS",
    "DMSO": "CS(C)=O",
    "chloroform": "ClC(Cl)Cl",
    "dichloromethane": "ClCCl",
    "chlorobenzene": "Clc1ccccc1",
    "bromobenzene": "Brc1ccccc1",
    "fluorobenzene": "Fc1ccccc1",
    "iodobenzene": "Ic1ccccc1",
    "acetyl chloride": "CC(=O)Cl",
    "acetonitrile": "CC#N",
    "benzonitrile": "N#Cc1ccccc1",
    "azobenzene": "c1ccc(N=Nc2ccccc2)cc1",
    "testosterone": "CC12CCC3C(CCC4=CC(=O)CCC43C)C1CCC2O",
    "cholesterol": "CC(C)CCCC(C)C1CCC2C3CC=C4CC(O)CCC4(C)C3CCC12C",
    "curcumin": "COc1cc(C=CC(=O)CC(=O)C=Cc2ccc(O)c(OC)c2)ccc1O",
    "resveratrol": "Oc1ccc(C=Cc2cc(O)cc(O)c2)cc1",
    "quercetin": "O=c1c(O)c(-c2ccc(O)c(O)c2)oc2cc(O)cc(O)c12",
    "capsaicin": "COc1cc(CNC(=O)CCCCC=CC(C)C)ccc1O",
    "piperine": "O=C(C=CC=Cc1ccc2c(c1)OCO2)N1CCCCC1",
    "lidocaine": "CCN(CC)CC(=O)Nc1c(C)cccc1C",
    "benzocaine": "CCOC(=O)c1ccc(N)cc1",
    "safrole": "C=CCc1ccc2c(c1)OCO2",
}


def molecules() -> list[dict[str, Any]]:
    from rdkit import Chem, RDLogger
    from rdkit.Chem import AllChem, rdMolDescriptors

    RDLogger.DisableLog("rdApp.*")
    found = []
    for name, smiles in SMILES.items():
        molecule = Chem.MolFromSmiles(smiles)
        AllChem.Compute2DCoords(molecule)
        Chem.Kekulize(molecule, clearAromaticFlags=True)
        points = molecule.GetConformer().GetPositions() / 1.5
        found.append(
            {
                "name": name,
                "formula": rdMolDescriptors.CalcMolFormula(molecule),
                "atoms": [[atom.GetSymbol(), atom.GetTotalNumHs()] for atom in molecule.GetAtoms()],
                "at": [[round(float(x), 2), round(-float(y), 2)] for x, y, _ in points],
                "bonds": [
                    [bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), int(bond.GetBondTypeAsDouble())]
                    for bond in molecule.GetBonds()
                ],
                "rings": [list(ring) for ring in molecule.GetRingInfo().AtomRings()],
            }
        )
    return found


def world(folder: Path) -> list[dict[str, Any]]:
    topology = json.loads((folder / "countries-110m.json").read_text())
    scale, move = topology["transform"]["scale"], topology["transform"]["translate"]
    arcs = []
    for arc in topology["arcs"]:
        x = y = 0
        points = []
        for right, up in arc:
            x, y = x + right, y + up
            points.append([x * scale[0] + move[0], y * scale[1] + move[1]])
        arcs.append(points)

    def ring(numbers: list[int]) -> list[list[float]]:
        points: list[list[float]] = []
        for number in numbers:
            part = arcs[number] if number >= 0 else arcs[~number][::-1]
            points += part[1:] if points else part
        rounded = [[round(x * 20) / 20, round(y * 20) / 20] for x, y in points]
        return [point for n, point in enumerate(rounded) if n == 0 or point != rounded[n - 1]]

    found = []
    for country in topology["objects"]["countries"]["geometries"]:
        polygons = country["arcs"] if country["type"] == "MultiPolygon" else [country["arcs"]]
        outer = [ring(polygon[0]) for polygon in polygons]
        found.append({"name": country["properties"]["name"], "land": [points for points in outer if len(points) > 3]})
    return sorted(found, key=lambda country: str(country["name"]))


def main(words: list[str]) -> int:
    made = molecules() if words[0] == "molecules" else world(Path(words[1]).expanduser())
    lines = ",\n".join(json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in made)
    Path(words[-1]).write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    print(f"{words[-1]}: {len(made)} {words[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
